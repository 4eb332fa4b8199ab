/* certificate.h - a CA for tests and certificates of it, good and bad ones.
 * Layer: tests. */
#ifndef ATOLL_TESTS_PROVIDER_CERTIFICATE_H
#define ATOLL_TESTS_PROVIDER_CERTIFICATE_H

/* Writes into the folder: ca.pem (for ca_file), other-ca.pem (signed nothing here), and, with certificate and key in one
 * file each: valid.pem, expired.pem, wrong-host.pem, self-signed.pem.  0, or -1 with a line on stderr. */
int certificates_make(const char *folder);

#endif
