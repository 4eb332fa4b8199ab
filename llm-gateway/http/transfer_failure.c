/* transfer_failure.c - codes of curl as outcomes with a text that names the remedy.
 * Certificates are told apart by the words of the TLS library (OpenSSL, GnuTLS and others say them differently): what no
 * row knows is passed on as it is. */
#include <stdio.h>
#include <string.h>

#include "llm-gateway/http/transfer_state.h"

struct failure {
    CURLcode code;
    enum atoll_llm_status status;
    const char *what; /* the words of curl follow in brackets */
};

static const struct failure failures[] = {
    {CURLE_COULDNT_RESOLVE_HOST, ATOLL_LLM_NETWORK,
     "the host's name has no address: is the url right, is there a network, is a proxy needed?"},
    {CURLE_COULDNT_RESOLVE_PROXY, ATOLL_LLM_NETWORK, "the proxy's name has no address: see proxy"},
    {CURLE_COULDNT_CONNECT, ATOLL_LLM_NETWORK,
     "no connection: does a server listen there, is a proxy needed?"},
    {CURLE_PROXY, ATOLL_LLM_NETWORK, "the proxy did not do what was asked of it: see proxy"},
    {CURLE_OPERATION_TIMEDOUT, ATOLL_LLM_NETWORK, "no connection in time: see connect_s, proxy"},
    {CURLE_SSL_CONNECT_ERROR, ATOLL_LLM_NETWORK,
     "TLS could not be agreed on: is it a TLS port, does a proxy break TLS open?"},
    {CURLE_SSL_CACERT_BADFILE, ATOLL_LLM_NETWORK,
     "the CA certificates cannot be read: see ca_file (a PEM file)"},
    {CURLE_GOT_NOTHING, ATOLL_LLM_NETWORK, "the connection ended before a reply"},
    {CURLE_PARTIAL_FILE, ATOLL_LLM_NETWORK, "the connection ended within the reply"},
    {CURLE_RECV_ERROR, ATOLL_LLM_NETWORK, "the connection broke while a reply was awaited"},
    {CURLE_SEND_ERROR, ATOLL_LLM_NETWORK, "the connection broke while the request was sent"},
    {CURLE_SEND_FAIL_REWIND, ATOLL_LLM_NETWORK,
     "a connection that was used before broke; the request may have arrived"},
    {CURLE_ABORTED_BY_CALLBACK, ATOLL_LLM_NETWORK,
     "a connection that was used before broke; the request may have arrived"},
    {CURLE_HTTP2, ATOLL_LLM_NETWORK, "the HTTP/2 connection failed"},
    {CURLE_HTTP2_STREAM, ATOLL_LLM_NETWORK, "the HTTP/2 stream was ended by the server"},
    {CURLE_UNSUPPORTED_PROTOCOL, ATOLL_LLM_PROTOCOL, "not a url of http or https that can be spoken here"},
    {CURLE_URL_MALFORMAT, ATOLL_LLM_PROTOCOL, "the url is wrong"},
    {CURLE_WEIRD_SERVER_REPLY, ATOLL_LLM_PROTOCOL, "the reply is not HTTP"},
    {CURLE_BAD_CONTENT_ENCODING, ATOLL_LLM_PROTOCOL, "the reply's encoding is broken"},
    {CURLE_FILESIZE_EXCEEDED, ATOLL_LLM_PROTOCOL, "the reply says that it is larger than is allowed"},
};

struct certificate {
    const char *words[3]; /* any of them, in lower case */
    const char *text;
};

static const struct certificate certificates[] = {
    {{"has expired", "expired", NULL},
     "the server's certificate has expired: its owner must renew it (or this machine's clock is wrong)"},
    {{"not yet valid", "not activated", NULL},
     "the server's certificate is not valid yet: is this machine's clock right?"},
    {{"no alternative certificate subject name", "does not match", "hostname"},
     "the server's certificate is for another host: use the name it was made for in the url"},
    {{"self-signed", "self signed", NULL},
     "the server's certificate is signed by itself or by an unknown CA: if you trust it, name it in ca_file "
     "(PEM)"},
    {{"issuer", "unable to verify", "unknown ca"},
     "the server's certificate is signed by an unknown CA: name the site's CA certificate in ca_file (PEM)"},
};

static const char *certificate_text(const char *said)
{
    for (size_t i = 0; i < sizeof certificates / sizeof certificates[0]; i++) {
        for (size_t w = 0; w < 3 && certificates[i].words[w]; w++) {
            if (strcasestr(said, certificates[i].words[w]))
                return certificates[i].text;
        }
    }
    return "the server's certificate was not accepted: see ca_file";
}

static const struct failure *failure_find(CURLcode code)
{
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        if (failures[i].code == code)
            return &failures[i];
    }
    return NULL;
}

void atoll_exchange_explain(struct atoll_exchange *exchange, CURLcode code)
{
    const struct failure *failure = failure_find(code);
    const char *said = exchange->error[0] ? exchange->error : curl_easy_strerror(code);
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        atoll_exchange_decide(exchange, ATOLL_LLM_NETWORK, "%s (%.120s)", certificate_text(said), said);
    else if (code == CURLE_RECV_ERROR && strstr(said, "CONNECT"))
        atoll_exchange_decide(
            exchange, ATOLL_LLM_NETWORK,
            "the proxy opens no way to the host: may it be reached through it? see proxy (%.120s)", said);
    else if (failure)
        atoll_exchange_decide(exchange, failure->status, "%s (%.120s)", failure->what, said);
    else
        atoll_exchange_decide(exchange, ATOLL_LLM_NETWORK, "%.200s (curl %d)", said, (int)code);
}
