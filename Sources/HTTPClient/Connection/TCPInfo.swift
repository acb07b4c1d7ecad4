/// The first 232 bytes of the kernel's `struct tcp_info` (linux/tcp.h), read by offset. The structure only
/// ever grows at its end, and glibc's declaration ends before most of these fields. Fields that an older
/// kernel does not write are 0.
package struct TCPInfo: Sendable {
    var bytes = InlineArray<29, UInt64>(repeating: 0)

    init() {}

    /// tcpi_snd_mss: the bytes of a packet.
    package var segment: Int64 { Int64(field(16) as UInt32) }
    /// Bytes in flight: tcpi_unacked, in packets, times ``segment``.
    package var unacknowledged: Int64 { Int64(field(24) as UInt32) * segment }
    /// tcpi_notsent_bytes: bytes that this process has written and the kernel has not sent yet.
    package var unsent: Int64 { Int64(field(144) as UInt32) }
    /// tcpi_rtt: the smoothed round trip; nil before the first.
    package var roundTrip: Duration? {
        let microseconds: UInt32 = field(68)
        return microseconds == 0 ? nil : .microseconds(microseconds)
    }
    /// tcpi_rcv_rtt: the smoothed round trip from a window that this host opens to the bytes that fill it; nil before
    /// the first. ``roundTrip`` does not change while this host only receives.
    package var receiveRoundTrip: Duration? {
        let microseconds: UInt32 = field(92)
        return microseconds == 0 ? nil : .microseconds(microseconds)
    }
    /// tcpi_bytes_acked.
    package var acknowledged: Int64 { Int64(clamping: field(120) as UInt64) }
    /// Bytes that the peer reports to have: ``acknowledged`` and, after a gap, tcpi_sacked packets. When
    /// packets are lost, the first number alone stands still and then leaps: eight transfers with bbr at 20
    /// Mbit/s showed 12 to 26 Mbit/s within a quarter of a second.
    package var delivered: Int64 { acknowledged + Int64(field(28) as UInt32) * segment }
    /// tcpi_bytes_received.
    package var received: Int64 { Int64(clamping: field(128) as UInt64) }
    /// tcpi_min_rtt; nil before the first, which the kernel says by all ones.
    package var minRoundTrip: Duration? {
        let microseconds: UInt32 = field(148)
        return microseconds == .max || microseconds == 0 ? nil : .microseconds(microseconds)
    }
    /// tcpi_snd_wnd: bytes that the peer can take beyond those it has acknowledged; 0 before Linux 5.4.
    package var sendWindow: Int64 { Int64(field(228) as UInt32) }
    /// tcpi_probes: unanswered probes of a closed window.
    package var unansweredProbes: Int { Int(field(3) as UInt8) }
    /// tcpi_last_data_sent: milliseconds since the last packet with data, also a repeated one.
    private var sinceData: UInt32 { field(44) }
    /// tcpi_last_ack_recv: milliseconds since the last acknowledgement of the peer.
    private var sinceAnswer: UInt32 { field(56) }
    /// tcpi_bytes_retrans.
    package var retransmitted: Int64 { Int64(clamping: field(208) as UInt64) }

    /// Whether the peer has closed its window because its process does not read, so that the kernel may not
    /// send. The peer's host still answers: with three unanswered probes of the window the peer counts as silent.
    ///
    /// A host whose memory for the connection is full drops a packet that its window had room for, and answers it with
    /// a closed window. The kernel then repeats that packet in the place of probes.
    /// - Parameter start: an earlier state of the same connection. It shows whether this kernel reports the
    ///   window.
    package func isWindowClosed(since start: TCPInfo) -> Bool {
        guard unsent > 0 || unacknowledged > 0 else { return false }
        let isReported = start.sendWindow > 0
        if unacknowledged > 0 { return isReported && sendWindow == 0 && sinceAnswer <= sinceData }
        return unansweredProbes < 3 && (unansweredProbes > 0 || isReported && sendWindow < max(segment, 1))
    }

    private func field<Value: FixedWidthInteger & BitwiseCopyable>(_ offset: Int) -> Value {
        bytes.span.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: Value.self)
    }
}
