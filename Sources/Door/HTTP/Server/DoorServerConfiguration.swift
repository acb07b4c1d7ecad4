/// The settings of a ``DoorServer``.
package struct DoorServerConfiguration: Sendable {
    /// The address of the listener. The default is the loopback interface.
    package var host = "127.0.0.1"
    /// 0: any free port, see ``DoorServer/port()``.
    package var port = 8080
    /// The path of a unix socket in addition; an old socket there is replaced. Nil: none.
    package var socketPath: String?
    /// Begins all paths, such as `/sluice`; empty for none. It has no slash at the end.
    package var basePath = ""
    /// The scheme, host and base path that links in responses begin with, without a slash at the end; nil: the
    /// request's Host.
    package var publicBaseURL: String?
    /// Host names of the door in addition to `localhost`, the loopback addresses, and the address of the connection.
    package var allowedHosts: [String] = []
    /// Origins such as `https://example.com` whose pages may send changes with a cookie.
    package var allowedOrigins: [String] = []
    /// Addresses and networks in CIDR form whose `X-Forwarded-For` is believed; `unix` for the unix socket.
    package var trustedProxies: [String] = []
    /// Nil: plain HTTP. The unix socket never has TLS.
    package var certificate: CertificateSource?
    /// A socket that another process has opened, in place of ``host`` and ``port``. Nil: the server opens its own.
    package var inheritedSocket: CInt?

    /// More connections than this are refused with 503. Nil, the default: half of the open files of the
    /// process, after 256 for everything else.
    package var maxConnections: Int?
    /// From the accept of a connection, or the first byte of a request, to the end of its fields.
    package var headerTimeout: Duration = .seconds(10)
    /// From the end of a response to the next request.
    package var keepAliveTimeout: Duration = .seconds(75)
    /// A client that takes no byte of a response for this time is disconnected.
    package var writeTimeout: Duration = .seconds(30)
    /// Bytes a second of a body, on average over ``bodyRateWindow``, counted only while the door waits for them.
    package var minBodyRate = 1024
    package var bodyRateWindow: Duration = .seconds(30)
    /// Bytes that bodies of requests may take together while they are held as a whole: four bulks of 16 MiB. Those of at
    /// most 64 KiB may take 8 MiB more.
    package var bodyMemory = 64 << 20
    /// Bytes of a body that are read and dropped after an early response.
    package var maxDrainedBytes = 1 << 20
    /// The time for the same, and for a client to close its end.
    package var drainTimeout: Duration = .seconds(2)
    /// Requests that still run this long after the begin of a graceful shutdown are cancelled.
    package var shutdownGrace: Duration = .seconds(10)

    package init() {}
}
