// In the place of CUDA's header of the same name: all of it is always there in the emulator.
#pragma once
#include "../remora_emulate.h"
