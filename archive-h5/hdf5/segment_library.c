#include "archive-h5/hdf5/segment_library.h"

#include <stdio.h>

void atoll_segment_silence(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5Eclear2(H5E_DEFAULT);
}

struct message {
    char text[256];
};

static herr_t keep_innermost(unsigned n, const H5E_error2_t *e, void *context)
{
    struct message *m = context;
    if (n == 0)
        snprintf(m->text, sizeof(m->text), "%s", e->desc ? e->desc : "");
    return 0;
}

int atoll_segment_library_failed(enum atoll_code code, const char *path, const char *what,
                                 struct atoll_err *err)
{
    struct message m = {""};
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &m);
    H5Eclear2(H5E_DEFAULT);
    return atoll_err_set(err, code, "%s: %s%s%s", path, what, *m.text ? ": " : "", m.text);
}

hid_t atoll_segment_file_type(enum atoll_column_type type)
{
    switch (type) {
    case ATOLL_COLUMN_U8:
    case ATOLL_COLUMN_ID: return H5T_STD_U8LE;
    case ATOLL_COLUMN_U64: return H5T_STD_U64LE;
    case ATOLL_COLUMN_I64: return H5T_STD_I64LE;
    case ATOLL_COLUMN_F64: return H5T_IEEE_F64LE;
    default: return H5T_STD_U32LE;
    }
}
