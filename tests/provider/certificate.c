#include "tests/provider/certificate.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

struct wanted {
    const char *file, *name, *hosts; /* hosts NULL: a CA */
    long from_s, until_s;
    int issuer; /* row that signs it; its own: by itself */
    int has_key_file;
};

#define DAY_S 86400L

static const struct wanted wanted[] = {
    {"ca.pem", "test CA", NULL, -DAY_S, 365 * DAY_S, 0, 0},
    {"other-ca.pem", "another CA", NULL, -DAY_S, 365 * DAY_S, 1, 0},
    {"valid.pem", "valid", "IP:127.0.0.1,DNS:localhost", -DAY_S, 365 * DAY_S, 0, 1},
    {"expired.pem", "expired", "IP:127.0.0.1,DNS:localhost", -2 * DAY_S, -DAY_S, 0, 1},
    {"wrong-host.pem", "wrong", "DNS:elsewhere.invalid", -DAY_S, 365 * DAY_S, 0, 1},
    {"self-signed.pem", "self", "IP:127.0.0.1,DNS:localhost", -DAY_S, 365 * DAY_S, 5, 1},
};
#define COUNT (sizeof(wanted) / sizeof(wanted[0]))

static int extension_add(X509 *certificate, int nid, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    int is_added = extension && X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return is_added;
}

static int fill(X509 *certificate, const struct wanted *row, long serial, EVP_PKEY *key)
{
    X509_NAME *name = X509_get_subject_name(certificate);
    return X509_set_version(certificate, 2) && ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial) &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), row->from_s) &&
           X509_gmtime_adj(X509_getm_notAfter(certificate), row->until_s) &&
           X509_set_pubkey(certificate, key) &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)row->name, -1, -1,
                                      0) &&
           (row->hosts ? extension_add(certificate, NID_subject_alt_name, row->hosts)
                       : extension_add(certificate, NID_basic_constraints, "critical,CA:TRUE"));
}

static int write_file(const char *folder, const struct wanted *row, X509 *certificate, EVP_PKEY *key)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, row->file);
    FILE *file = fopen(path, "w");
    if (!file)
        return 0;
    int is_written = PEM_write_X509(file, certificate) &&
                     (!row->has_key_file || PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL));
    return fclose(file) == 0 && is_written;
}

int certificates_make(const char *folder)
{
    X509 *certificates[COUNT] = {0};
    EVP_PKEY *keys[COUNT] = {0};
    int is_good = 1;
    for (size_t i = 0; i < COUNT && is_good; i++) {
        const struct wanted *row = &wanted[i];
        certificates[i] = X509_new();
        keys[i] = EVP_EC_gen("P-256");
        is_good = certificates[i] && keys[i] && fill(certificates[i], row, (long)i + 1, keys[i]) &&
                  X509_set_issuer_name(certificates[i], X509_get_subject_name(certificates[row->issuer])) &&
                  X509_sign(certificates[i], keys[row->issuer], EVP_sha256()) &&
                  write_file(folder, row, certificates[i], keys[i]);
        if (!is_good)
            fprintf(stderr, "fault_provider: %s/%s cannot be made\n", folder, row->file);
    }
    for (size_t i = 0; i < COUNT; i++) {
        X509_free(certificates[i]);
        EVP_PKEY_free(keys[i]);
    }
    return is_good ? 0 : -1;
}
