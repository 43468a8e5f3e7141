#pragma once
namespace moult {
enum class Urgency { routine, hard_limit, pressure };
}
