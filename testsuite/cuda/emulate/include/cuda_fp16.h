// In the place of CUDA's header of the same name: half precision is always there in the emulator.
#pragma once
#include "../remora_emulate.h"
