public import ArgumentParser
public import Commands
internal import Console
internal import Glibc
internal import HTTPClient
internal import Host
internal import Transfers

extension CommandIDPart: ExpressibleByArgument {
    public init?(argument: String) {
        guard let part = Self(argument) else {
            ArgumentForm.expect("a UUID, or at least \(Self.minDigits) of its digits")
            return nil
        }
        self = part
    }
    public static var defaultCompletionKind: CompletionKind { .default }
}

extension QualityOfService: ExpressibleByArgument {
    public init?(argument: String) { self.init(name: argument) }
    public static var allValueStrings: [String] { allCases.map(\.name) }
    // Otherwise help lists the names once more, each with an empty description.
    public static var allValueDescriptions: [String: String] { [:] }
    public static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
    public var defaultValueDescription: String { name }
}

extension CommandStatus: ExpressibleByArgument {
    public init?(argument: String) {
        guard let status = Self(option: argument) else {
            ArgumentForm.suggestion = Self.suggestion(for: argument)
            return nil
        }
        self = status
    }
    public static var allValueStrings: [String] { allCases.map { $0 == .tooManyTimes ? "gaveUp" : $0.name } }
    public static var allValueDescriptions: [String: String] { [:] }
    public static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
    public var defaultValueDescription: String { name }
}

/// A batch on the command line, by its whole UUID.
struct BatchArgument: ExpressibleByArgument {
    let id: CommandID

    init?(argument: String) {
        guard let id = CommandID(argument) else {
            ArgumentForm.expect("the whole UUID of a batch")
            return nil
        }
        self.id = id
    }
}

/// `--destination`: an origin such as `https://host:443`, or any URL of it. A path in a `file:` URL means the
/// file system that holds it.
struct DestinationArgument: ExpressibleByArgument {
    let destination: Destination

    init?(argument: String) {
        guard let destination = Destination(url: argument) else {
            ArgumentForm.expect("a URL such as https://host:8443 or file:///srv/in")
            return nil
        }
        self.destination = destination
    }
}

/// RFC 3339, or the time that has passed since: `2h` is two hours ago.
struct PastTimeArgument: ExpressibleByArgument {
    let time: Timestamp

    init?(argument: String) {
        if let time = Timestamp(rfc3339: argument) {
            self.time = time
        } else if let duration = Duration.parse(argument) {
            time = Timestamp.now + (.zero - duration)
        } else {
            ArgumentForm.expect("a time such as 2026-03-01T12:34:56Z, or how long ago it was, such as 2h or 3d")
            return nil
        }
    }
}

/// RFC 3339, or a duration from now.
struct TimeArgument: ExpressibleByArgument {
    let time: Timestamp

    init?(argument: String) {
        guard let time = Timestamp(text: argument, now: .now) else {
            ArgumentForm.expect("a time such as 2026-03-01T12:34:56Z, or a duration from now such as +10m")
            return nil
        }
        self.time = time
    }
}

/// `25s`, `500ms`, `2m`, `1h30m`, `7d`, or plain seconds.
struct DurationArgument: ExpressibleByArgument {
    let duration: Duration

    init(_ duration: Duration) { self.duration = duration }

    init?(argument: String) {
        guard let duration = Duration.parse(argument) else {
            ArgumentForm.expect("a duration such as 500ms, 25s, 1h30m or 7d")
            return nil
        }
        self.duration = duration
    }

    var defaultValueDescription: String { duration.shortText }
}

/// `8MiB`, `8MB` or plain bytes.
struct SizeArgument: ExpressibleByArgument {
    let bytes: Int64

    init?(argument: String) {
        guard let bytes = ByteCount.bytes(argument) else {
            ArgumentForm.expect("a size such as 8MiB, 500kB or bytes")
            return nil
        }
        self.bytes = bytes
    }
}

/// The values of `--header`.
enum HeaderArgument {
    /// - Returns: names and values, as a payload has them.
    /// - Throws: `ValidationError` for a text without a colon, or with white space before it.
    static func members(_ texts: [String]) throws -> [JSONValue.Member] {
        try texts.map { text in
            guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon > text.startIndex,
                !text[..<colon].unicodeScalars.contains(where: \.properties.isWhitespace)
            else {
                let start = HTTPHeaderRedaction.start(ofMalformed: text).map { ", which '\($0) …' is not" } ?? ""
                throw ValidationError(
                    "--header must be a name, a colon and a value, as in 'X-Tag: nightly'\(start).")
            }
            let value = text.utf8[colon...].dropFirst().drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            return .init(String(text[..<colon]), .string(String(Substring(value))))
        }
    }
}

/// Reads the file of `--payload @file`.
enum PayloadFile {
    /// Bytes. JSON text may be longer than the form that is stored.
    static let limit = 4 * Command.payloadLimit

    static func read(_ path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw ExitError(.input, "\(SystemError("open the payload file", path))")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw ExitError(.input, "\(SystemError("read the payload file", path))")
            }
            if count == 0 { return bytes }
            bytes.append(contentsOf: buffer[..<count])
            guard bytes.count <= limit else {
                throw ExitError(
                    .data, "the payload file \(path) is larger than a payload may be (\(Command.payloadLimit) bytes)")
            }
        }
    }
}
