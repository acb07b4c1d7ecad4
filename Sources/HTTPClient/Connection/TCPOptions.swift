internal import CLinux
internal import Glibc
internal import NIOCore

/// Socket options of Linux for which NIO and glibc have no names (linux/tcp.h, asm-generic/socket.h). Used on
/// the channel's event loop. On a closed channel the setters have no effect.
struct TCPOptions {
    private let provider: any SocketOptionProvider

    /// - Returns: nil where the channel is not a socket.
    init?(_ channel: any Channel) {
        guard let provider = channel as? any SocketOptionProvider else { return nil }
        self.provider = provider
    }

    /// TCP_NOTSENT_LOWAT: the maximum bytes that the kernel takes ahead of those it has sent.
    func limitUnsent(to bytes: CInt) {
        _ = provider.unsafeSetSocketOption(level: .tcp, name: .init(rawValue: 25), value: bytes)
    }

    /// SO_SNDBUF, which the kernel doubles for its bookkeeping. It cannot be undone.
    func setSendBuffer(_ bytes: CInt) {
        _ = provider.unsafeSetSocketOption(level: .socket, name: .so_sndbuf, value: bytes)
    }

    /// SO_RCVBUF, which the kernel doubles for its bookkeeping. From then on the kernel does not adjust the receive
    /// window to the rate. It cannot be undone.
    func setReceiveBuffer(_ bytes: CInt) {
        _ = provider.unsafeSetSocketOption(level: .socket, name: .so_rcvbuf, value: bytes)
    }

    /// TCP_WINDOW_CLAMP: the maximum receive window. Bytes that the peer may already send still come.
    func limitReceiveWindow(to bytes: CInt) {
        _ = provider.unsafeSetSocketOption(level: .tcp, name: .init(rawValue: 10), value: bytes)
    }

    /// SO_MAX_PACING_RATE in bytes per second; all ones: none.
    func limitRate(to bytesPerSecond: UInt64) {
        _ = provider.unsafeSetSocketOption(level: .socket, name: .init(rawValue: 47), value: bytesPerSecond)
    }

    /// SO_KEEPALIVE with its times in seconds. A peer whose host is gone is detected after
    /// `idle + count × interval`, even while nothing is sent (tcp(7)).
    func keepAlive(idle: CInt, interval: CInt, count: CInt) {
        _ = provider.unsafeSetSocketOption(level: .socket, name: .so_keepalive, value: CInt(1))
        for (name, value) in [(4, idle), (5, interval), (6, count)] as [(CInt, CInt)] {
            _ = provider.unsafeSetSocketOption(level: .tcp, name: .init(rawValue: name), value: value)
        }
    }

    /// SO_LINGER with a time of 0: a close resets the connection, and queued bytes are not sent.
    func closeWithReset() { _ = provider.setSoLinger(linger(l_onoff: 1, l_linger: 0)) }

    /// TCP_INFO; nil on a closed channel.
    var info: TCPInfo? { option(11) }

    /// TCP_CONGESTION, by its first four bytes.
    var isBBR: Bool { option(13) == Self.bbr }

    /// Restarts bbr with its present window, as on a new connection.
    ///
    /// The bandwidth that bbr measured for the previous request was that request's share of the link. bbr
    /// leaves it by a quarter in eight round trips: 100 Mbit/s that had come back were filled to four fifths
    /// after 4.5 s, with a restart after 2.8 s; a steady link to 96.9 %, with a restart to 98.3 %. And when
    /// its minimum round trip becomes 10 s old during a transfer, bbr stops for 0.2 s to measure it again.
    ///
    /// The only way is to switch to another congestion control and back. Where users may not choose bbr
    /// (`tcp_allowed_congestion_control`), nothing is done.
    func restartBBR() {
        guard Self.mayChooseBBR, isBBR else { return }
        for name in [Self.reno, Self.bbr] {
            _ = provider.unsafeSetSocketOption(level: .tcp, name: .init(rawValue: 13), value: name)
        }
    }

    private static let bbr = UInt32(littleEndian: 0x0072_6262)
    private static let reno = UInt32(littleEndian: 0x6F6E_6572)

    private static let mayChooseBBR: Bool = {
        let path = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
        let descriptor = clinux_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            let names = String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
            return names.split(whereSeparator: \.isWhitespace).contains("bbr")
        }
    }()

    private func option<Value: Sendable>(_ name: CInt) -> Value? {
        var value: Value?
        let reading: EventLoopFuture<Value> = provider.unsafeGetSocketOption(level: .tcp, name: .init(rawValue: name))
        reading.assumeIsolated().whenSuccess { value = $0 }
        return value
    }
}
