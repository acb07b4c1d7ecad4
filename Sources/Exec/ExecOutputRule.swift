internal import Commands
internal import Operations

/// The treatment of one output: `{"keep": "tail", "limit": 65536, "to": "/data/log"}`.
struct ExecOutputRule: Sendable, Equatable {
    static let maxLimit: Int64 = 1 << 20

    var keep = OutputTail.Keep.tail
    /// Bytes in the result.
    var limit = 65_536
    /// A file that gets the whole output; in the directory of the program.
    var to: String?

    init() {}

    /// - Parameter name: of the member, for errors.
    init(_ value: JSONValue, _ name: String) throws(PayloadError) {
        guard let members = value.members else {
            throw PayloadError(.data, "“\(name)” must be an object, not \(value.kind)")
        }
        for member in members {
            switch member.name {
            case "keep":
                guard let keep = member.value.string.flatMap(OutputTail.Keep.init(rawValue:)) else {
                    throw PayloadError(.data, "“keep” of “\(name)” must be “head” or “tail”")
                }
                self.keep = keep
            case "limit":
                guard let limit = member.value.integer, (0...Self.maxLimit).contains(limit) else {
                    throw PayloadError(.data, "“limit” of “\(name)” must be a whole number from 0 to \(Self.maxLimit)")
                }
                self.limit = Int(limit)
            case "to":
                guard let path = member.value.string else {
                    throw PayloadError(.data, "“to” of “\(name)” must be a string, not \(member.value.kind)")
                }
                if let objection = ExecProgram.objection(toPath: path) {
                    throw PayloadError(.data, "“to” of “\(name)” \(objection)")
                }
                to = path
            default:
                throw PayloadError(.data, "unknown key “\(member.name)” in “\(name)”; it has “keep”, “limit” and “to”")
            }
        }
    }

    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("keep", .string(keep.rawValue)), .init("limit", .integer(Int64(limit))),
        ]
        if let to { members.append(.init("to", .string(to))) }
        return .object(members)
    }
}

/// The first or the last bytes of an output, and the number of all. Pure.
struct OutputTail: Sendable, Equatable {
    enum Keep: String, Sendable {
        case head
        case tail
    }

    let keep: Keep
    /// The maximum number of bytes that stay.
    let limit: Int
    /// The number of all bytes.
    private(set) var count: Int64 = 0
    private var storage: [UInt8] = []
    /// The index of the oldest byte, once the storage is full.
    private var oldest = 0

    /// - Parameter limit: in bytes, from 0.
    init(_ keep: Keep = .tail, limit: Int = 65_536) {
        self.keep = keep
        self.limit = max(limit, 0)
    }

    var isTruncated: Bool { count > Int64(storage.count) }

    mutating func append(_ bytes: some RandomAccessCollection<UInt8>) {
        count += Int64(bytes.count)
        let free = limit - storage.count
        storage.append(contentsOf: bytes.prefix(free))
        if keep == .tail { overwrite(bytes.dropFirst(free).suffix(limit)) }
    }

    /// Replaces the oldest bytes of the full storage.
    private mutating func overwrite(_ bytes: some RandomAccessCollection<UInt8>) {
        guard !bytes.isEmpty else { return }
        let first = bytes.prefix(limit - oldest)
        storage.replaceSubrange(oldest..<oldest + first.count, with: first)
        let rest = bytes.dropFirst(first.count)
        storage.replaceSubrange(0..<rest.count, with: rest)
        oldest = (oldest + bytes.count) % limit
    }

    /// The bytes that stay, in their order.
    var bytes: [UInt8] {
        oldest == 0 ? storage : Array(storage[oldest...]) + storage[..<oldest]
    }

    /// The maximum characters of ``lastLine(of:)``.
    static let lineLimit = 300

    /// The last line that is not blank, without control characters, to be quoted in a reason; nil where there
    /// is none.
    static func lastLine(of bytes: [UInt8]) -> String? {
        for line in bytes.reversed().split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let text = String(decoding: line.reversed(), as: UTF8.self)
            let shown = String(
                String.UnicodeScalarView(
                    text.unicodeScalars.filter { $0.properties.generalCategory != .control || $0 == "\t" }))
            if let start = shown.firstIndex(where: { !$0.isWhitespace }) {
                let end = shown.lastIndex { !$0.isWhitespace } ?? start
                return String(shown[start...end].suffix(lineLimit))
            }
        }
        return nil
    }
}
