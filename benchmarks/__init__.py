"""How fast is lowtide beside its peers, and beside what the disk can do? One module a question; see README.md."""
