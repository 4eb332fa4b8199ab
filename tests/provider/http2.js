// http2.js - a TLS server of HTTP/2 and HTTP/1.1 for the tests of transfers: node http2.js FILE.pem; prints its URL, ends with
// its stdin.  /refused: the exchange is refused; /silent: no reply; else: how many connections and requests there were,
// after 10 ms.
const http2 = require('http2'), fs = require('fs'), pem = fs.readFileSync(process.argv[2]);
let connections = 0, requests = 0;
const server = http2.createSecureServer({key: pem, cert: pem, allowHTTP1: true}, (request, response) => {
    let length = 0;
    requests++;
    request.on('error', () => {});
    response.on('error', () => {});
    request.on('data', data => length += data.length);
    request.on('end', () => {
        if (request.url === '/refused') {
            if (request.stream)
                request.stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
            else
                request.socket.destroy();
        } else if (request.url !== '/silent') {
            setTimeout(() => {
                if (!response.destroyed)
                    response.end(`${length} bytes, ${connections} connections, ${requests} requests, ${request.httpVersion}\n`);
            }, 10);
        }
    });
});
server.on('secureConnection', () => connections++);
server.listen(0, '127.0.0.1', () => console.log(`https://127.0.0.1:${server.address().port}`));
process.stdin.on('end', () => process.exit(0)).resume();
