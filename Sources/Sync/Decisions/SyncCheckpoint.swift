internal import Commands

/// The state of a read between two pages. It is committed with the staged records of the page before, so that
/// another execution can go on behind it.
///
/// ```
/// {"command": "01998b5e-…", "payload": "8c1f…", "at": 1763000000000, "page": 3, "cursor": "abc",
///  "items": 200, "total": 500, "since": "tok", "first": 1763000000000, "clock": -120, "token": "tok2",
///  "version": "…", "pages200": true, "print": ["c0ffee", "c0ffee", 500]}
/// ```
struct SyncCheckpoint: Sendable, Equatable {
    /// Cursors of many servers are valid for an hour; 15 minutes also bound the age of the staged pages.
    static let maxAge: Duration = .seconds(900)
    /// Items of a list; a larger number is damage.
    private static let maxItems: Int64 = 1 << 50

    var command: CommandID
    /// ``SyncPayload/fingerprint``
    var fingerprint: String
    /// When the last page was staged, by this host's clock.
    var at: Timestamp
    var position: PagingPosition
    var read: SyncRead
    var progress: SinceProgress
    var everyPageWas200 = true
    var print = ReadPrint()

    /// Whether an execution may go on here.
    func isValid(for payload: SyncPayload, command: CommandID, now: Timestamp) -> Bool {
        self.command == command && fingerprint == payload.fingerprint && payload.pages.by == .cursor
            && isRecent(at: now)
    }

    /// Whether it is younger than ``maxAge``. A clock that was set back makes the age unknown, so it is not.
    func isRecent(at now: Timestamp) -> Bool {
        let age = now - at
        return age >= .zero && age < Self.maxAge
    }

    /// Whether the first answer after a resumption says that the cursor has expired, so that the read begins
    /// again: once, as the next execution has no checkpoint.
    static func isExpiredCursor(status: Int) -> Bool { [400, 404, 410, 422].contains(status) }

    /// - Returns: nil for bytes that this program cannot read; then the read begins again.
    init?(_ bytes: [UInt8]) {
        guard let value = try? JSONValue(parsing: bytes),
            let command = value["command"]?.string.flatMap(CommandID.init),
            let fingerprint = value["payload"]?.string, let at = value["at"]?.integer,
            let number = value["page"]?.integer, (1...PagingRule.maxMaxPages).contains(number),
            let cursor = value["cursor"]?.string,
            let items = value["items"]?.integer, (0...Self.maxItems).contains(items),
            let every = value["pages200"]?.bool
        else { return nil }
        self.command = command
        self.fingerprint = fingerprint
        self.at = Timestamp(milliseconds: at)
        position = PagingPosition(
            number: number, cursor: cursor, items: Int(items), total: value["total"]?.integer.map { Int($0) })
        read = value["since"]?.string.map { .delta(token: $0) } ?? .full
        progress = SinceProgress(value)
        everyPageWas200 = every
        print = ReadPrint(value["print"])
    }

    init(
        command: CommandID, payload: SyncPayload, at: Timestamp, position: PagingPosition, read: SyncRead,
        progress: SinceProgress
    ) {
        self.command = command
        fingerprint = payload.fingerprint
        self.at = at
        self.position = position
        self.read = read
        self.progress = progress
    }

    var bytes: [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.beginObject()
        writer.member("command", "\(command)")
        writer.member("payload", fingerprint)
        writer.member("at", at.milliseconds)
        writer.member("page", position.number)
        writer.member("cursor", position.cursor)
        writer.member("items", position.items)
        if let total = position.total { writer.member("total", total) }
        if case .delta(let token) = read { writer.member("since", token) }
        progress.write(&writer)
        writer.member("pages200", everyPageWas200)
        writer.member("print", print.json)
        writer.endObject()
        return writer.bytes
    }
}
