internal import CPostgreSQL
internal import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The connection of libpq, closed at the end of this value.
struct LibpqHandle: ~Copyable {
    /// Nil after it was closed.
    private(set) var pointer: OpaquePointer?

    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { if let pointer { cpostgresql_finish(pointer) } }

    mutating func close() {
        if let pointer { cpostgresql_finish(pointer) }
        pointer = nil
    }

    /// The last error of libpq in one line.
    var message: String {
        guard let pointer else { return "the connection is closed" }
        return Self.line(String(cString: cpostgresql_error_message(pointer)))
    }

    /// A text of libpq, whose lines become parts of a sentence.
    static func line(_ text: String) -> String {
        let lines = text.split(whereSeparator: \.isNewline).map { line in
            String(line.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace || $0 == "." }.reversed())
        }
        let parts = lines.filter { !$0.isEmpty && !$0.hasPrefix("LOCATION:") }
        return parts.isEmpty ? "the connection is lost" : parts.joined(separator: ", ")
    }

    // MARK: Waiting

    static let lateAnswer = "the server has not answered in time"

    /// Sends what libpq has queued, waits until the socket has input or takes more, and reads.
    /// - Returns: why the connection is lost, or that the deadline has passed; nil otherwise.
    func wait(until deadline: MonotonicTime) -> String? {
        guard let pointer else { return message }
        let unsent = cpostgresql_flush(pointer)
        if unsent < 0 { return message }
        // Data that TLS has decrypted is not announced by the socket: OpenSSL gives a record in parts where libpq's buffer
        // has no room for it, and two reads empty a record of 16 KiB. A result of 81,920 bytes hung so in ruby-pg (#588).
        if cpostgresql_uses_tls(pointer) != 0 {
            for _ in 0..<2 {
                guard cpostgresql_consume_input(pointer) == 1 else { return message }
                if cpostgresql_is_busy(pointer) == 0 { return nil }
            }
        }
        let events = Int16(POLLIN) | (unsent > 0 ? Int16(POLLOUT) : 0)
        guard Self.wait(cpostgresql_socket(pointer), events, until: deadline) else {
            return Self.lateAnswer
        }
        return cpostgresql_consume_input(pointer) == 1 ? nil : message
    }

    /// Waits until a descriptor is ready, or has failed.
    /// - Returns: false where the deadline has passed.
    static func wait(_ descriptor: CInt, _ events: Int16, until deadline: MonotonicTime) -> Bool {
        var entry = pollfd(fd: descriptor, events: events, revents: 0)
        while true {
            // Rounded up, so that the last wait does not end before the deadline.
            let left = max((deadline - .now).nanoseconds, 0)
            let milliseconds = CInt(clamping: left / 1_000_000 + (left % 1_000_000 > 0 ? 1 : 0))
            let count = poll(&entry, 1, milliseconds)
            if count > 0 { return true }
            if count < 0, errno != EINTR { return true }
            if count == 0, MonotonicTime.now >= deadline { return false }
        }
    }
}

/// Receives the notices and warnings of a connection.
final class NoticeReceiver: Sendable {
    private let body: @Sendable (ServerReport) -> Void
    private let redaction: PasswordRedaction

    init(_ redaction: PasswordRedaction, _ body: @escaping @Sendable (ServerReport) -> Void) {
        self.redaction = redaction
        self.body = body
    }

    /// Attaches this, which must live as long as the connection. Without a receiver notices are dropped.
    static func attach(_ receiver: NoticeReceiver?, to connection: OpaquePointer) {
        guard let receiver else { return cpostgresql_set_notice_receiver(connection, nil, nil) }
        cpostgresql_set_notice_receiver(
            connection,
            { context, notice in
                guard let context, let notice, let report = ServerReport(notice) else { return }
                let receiver = Unmanaged<NoticeReceiver>.fromOpaque(context).takeUnretainedValue()
                receiver.body(report.redacted(by: receiver.redaction))
            }, Unmanaged.passUnretained(receiver).toOpaque())
    }
}
