// Everything public, in one include.
#pragma once

#include "lowtide/array.h"
#include "lowtide/budget.h"
#include "lowtide/dtype.h"
#include "lowtide/error.h"
#include "lowtide/index.h"
#include "lowtide/shape.h"
#include "lowtide/writer.h"
