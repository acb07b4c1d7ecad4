public import Commands

/// How producers without an operation read the payloads of its type.
///
/// A worker of your own writes the rules of its types into the store when it starts. From then on `sluice submit` and
/// every ``CommandOperation``-less producer give its commands the right destination, which network control needs, and
/// execute a command twice only where the rule permits it.
public struct PayloadRule: Sendable, Equatable {
    /// Whether a command may be executed again after an ambiguous end, unless its producer says otherwise. The default
    /// is false: such a command waits for a person, in status `inDoubt`.
    public var isIdempotent = false
    /// Where the payload has the URL of the server that the command talks to: a JSON Pointer (RFC 6901), such as
    /// `/url`. Nil, the default: commands of the type have no destination, and no network control.
    public var destination: String?
    /// As ``PayloadAttributes/retryLimit``. The default is nil.
    public var retryLimit: Int?

    /// Makes a rule.
    public init(isIdempotent: Bool = false, destination: String? = nil, retryLimit: Int? = nil) {
        self.isIdempotent = isIdempotent
        self.destination = destination
        self.retryLimit = retryLimit
    }

    /// The facts that the rule finds in a payload.
    /// - Throws: ``PayloadError``: `data` where the payload has no text at ``destination``, or where that is not a JSON
    ///   Pointer; `usage` where the text is not a URL with a host.
    public func attributes(of payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        var attributes = PayloadAttributes(destination: .none, idempotent: isIdempotent)
        attributes.retryLimit = retryLimit
        guard let destination else { return attributes }
        let pointer: JSONPointer
        do throws(JSONPointerError) {
            pointer = try JSONPointer(destination)
        } catch {
            throw PayloadError(.data, error.description)
        }
        guard let url = pointer.value(in: payload)?.string else {
            throw PayloadError(.data, "the payload has no text at “\(destination)”, where its type expects a URL")
        }
        guard let origin = Destination(url) else {
            throw PayloadError(.usage, "“\(url)”, at “\(destination)”, is not a URL with a scheme and a host")
        }
        attributes.destination = origin
        return attributes
    }
}

// MARK: The setting

extension PayloadRule {
    /// Nil for a value of another form.
    package init?(setting: String) {
        guard let value = try? JSONValue(parsing: Array(setting.utf8)), value.members != nil else { return nil }
        self.init(
            isIdempotent: value["idempotent"] == .bool(true), destination: value["destination"]?.string,
            retryLimit: value["retryLimit"]?.integer.flatMap { Int(exactly: $0) })
    }

    /// The value of ``SettingKey/type(_:)``; nil for the rule that also holds without a setting.
    package var setting: String? {
        guard self != PayloadRule() else { return nil }
        var members = [JSONValue.Member("idempotent", .bool(isIdempotent))]
        if let destination { members.append(.init("destination", .string(destination))) }
        if let retryLimit { members.append(.init("retryLimit", .integer(Int64(retryLimit)))) }
        return JSONValue.object(members).text
    }
}

/// The facts that an operation reads in a payload at submit.
public struct PayloadAttributes: Sendable, Equatable {
    /// The server that the command talks to; ``Destination/none`` without one.
    public var destination: Destination
    /// Whether the command may be executed again after an ambiguous end, unless the producer says otherwise.
    public var idempotent: Bool
    /// Bytes in all; 0 when not known.
    public var total: Int64
    /// The charged failures after which the command is given up, where its producer does not say. Nil: 5
    /// (``Command/defaultRetryLimit``).
    public var retryLimit: Int?
    /// The payload to store in place of the given one: with absolute paths, or with facts about the source.
    /// Nil: the given one.
    public var payload: JSONValue?
    /// The value by which two submits under one unique key are equal, where ``payload`` also has parts that
    /// change while the work stays the same, such as an inode. Nil: the bytes of the stored payload decide.
    public var identity: JSONValue?

    public init(destination: Destination, idempotent: Bool, total: Int64 = 0, payload: JSONValue? = nil) {
        self.destination = destination
        self.idempotent = idempotent
        self.total = total
        self.payload = payload
    }
}

/// Why a payload is refused at submit.
public struct PayloadError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Problem: Sendable, Equatable {
        /// A key or value that the schema does not allow (exit code 65).
        case data
        /// A source that is missing, unreadable or not a regular file (exit code 66).
        case source
        /// A source that cannot be opened now and may be later: no descriptors are left, or its disk failed
        /// (exit code 75).
        case passing
        /// A malformed URL or an unknown scheme (exit code 64).
        case usage
    }

    public var problem: Problem
    /// A sentence that names the key or the file.
    public var message: String

    public init(_ problem: Problem = .data, _ message: String) {
        self.problem = problem
        self.message = message
    }

    public var description: String { message }
}
