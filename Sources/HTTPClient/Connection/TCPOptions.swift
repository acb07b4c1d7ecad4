internal import CLinux
internal import Glibc
internal import NIOCore

/// What Linux's TCP tells and takes beyond the names that NIO and glibc have for it (linux/tcp.h, asm-generic/socket.h). All on
/// the channel's event loop; a closed channel takes nothing, which does not matter there.
struct TCPOptions {
    private let provider: any SocketOptionProvider

    /// Nil for what is no socket.
    init?(_ channel: any Channel) {
        guard let provider = channel as? any SocketOptionProvider else { return nil }
        self.provider = provider
    }

    /// TCP_NOTSENT_LOWAT: the kernel takes no more than so many bytes ahead of what it has sent.
    func limitUnsent(to bytes: CInt) {
        _ = provider.unsafeSetSocketOption(level: .tcp, name: .init(rawValue: 25), value: bytes)
    }

    /// SO_SNDBUF, which the kernel doubles for its own accounts. It cannot be undone.
    func setSendBuffer(_ bytes: CInt) {
        _ = provider.unsafeSetSocketOption(level: .socket, name: .so_sndbuf, value: bytes)
    }

    /// SO_MAX_PACING_RATE in bytes per second; all ones: none.
    func limitRate(to bytesPerSecond: UInt64) {
        _ = provider.unsafeSetSocketOption(level: .socket, name: .init(rawValue: 47), value: bytesPerSecond)
    }

    /// SO_KEEPALIVE with its times in seconds: a peer whose host is gone is noticed after `idle + count × interval`, also
    /// while nothing is sent (tcp(7)).
    func keepAlive(idle: CInt, interval: CInt, count: CInt) {
        _ = provider.unsafeSetSocketOption(level: .socket, name: .so_keepalive, value: CInt(1))
        for (name, value) in [(4, idle), (5, interval), (6, count)] as [(CInt, CInt)] {
            _ = provider.unsafeSetSocketOption(level: .tcp, name: .init(rawValue: name), value: value)
        }
    }

    /// SO_LINGER of no time: what is closed is reset, and nothing that waits is sent any more.
    func closeWithReset() { _ = provider.setSoLinger(linger(l_onoff: 1, l_linger: 0)) }

    /// TCP_INFO; nil where the socket has ended.
    var info: TCPInfo? { option(11) }

    /// TCP_CONGESTION, as far as four bytes tell.
    var isBBR: Bool { option(13) == Self.bbr }

    /// Lets bbr begin anew with the window that it has, as it would on a new connection. What it found out for the request
    /// before was that one's share of the link as it was then, and it leaves it by a quarter in eight round trips: 100 Mbit/s
    /// that came back were filled to four fifths after 4.5 s and not 2.8, steady ones to 96.9 and not 98.3 %; and where its
    /// least round trip turns 10 s old within a transfer, it stops for 0.2 s to measure it again. The only way is by another
    /// congestion control; where nobody may choose bbr (`tcp_allowed_congestion_control`), nothing is done.
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
