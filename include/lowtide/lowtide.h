// Everything public, in one include.
#pragma once

#include "lowtide/array.h"
#include "lowtide/budget.h"
#include "lowtide/compute.h"
#include "lowtide/dtype.h"
#include "lowtide/error.h"
#include "lowtide/index.h"
#include "lowtide/loader.h"
#include "lowtide/permutation.h"
#include "lowtide/row_loader.h"
#include "lowtide/scalar.h"
#include "lowtide/shape.h"
#include "lowtide/token_loader.h"
#include "lowtide/writer.h"
