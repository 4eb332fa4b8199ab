#include "scheduler/command.h"

int main(int argc, char **argv)
{
    return atoll_main(argc, argv);
}
