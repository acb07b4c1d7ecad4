internal import Commands
internal import HTTPClient

/// A text with placeholders. `{{` and `}}` stand for braces. Pure.
struct RouteTemplate: Sendable, Equatable {
    enum Part: Sendable, Equatable {
        case text(String)
        case placeholder(RoutePlaceholder)
    }

    /// The place of the text in a payload, which decides the form of a value in it.
    enum Context: Sendable, Equatable {
        case text
        /// Values are percent-encoded. None but `{path}` has a slash, none becomes a dot segment, and none chooses scheme or
        /// host.
        case url
        /// An absolute path. No value but `{path}` has a slash, and none becomes a dot segment.
        case path
        /// As ``path``, without a slash at its start: the name of a file.
        case name
        /// As ``name``: the key of an object.
        case key
        /// An argument of a program: no value begins it with “-”, which would make it an option.
        case argument
        /// A header value: no value has other characters than visible ASCII and spaces.
        case header
    }

    /// As it was written.
    let text: String
    let parts: [Part]
    let context: Context

    /// - Throws: ``RouteTemplateError`` for an unknown placeholder, a brace alone, and a placeholder where the context
    ///   does not allow it.
    init(_ text: String, _ context: Context = .text) throws(RouteTemplateError) {
        self.text = text
        self.context = context
        parts = try Self.parts(of: text)
        try checkPlaceholders()
    }

    var placeholders: [RoutePlaceholder] {
        parts.compactMap { if case .placeholder(let placeholder) = $0 { placeholder } else { nil } }
    }

    private static func parts(of text: String) throws(RouteTemplateError) -> [Part] {
        var parts: [Part] = []
        var literal: [UInt8] = []
        var rest = text.utf8[...]
        let (open, close) = (UInt8(ascii: "{"), UInt8(ascii: "}"))
        while let byte = rest.popFirst() {
            if byte == open || byte == close, rest.first == byte {
                rest.removeFirst()
                literal.append(byte)
            } else if byte == close {
                throw RouteTemplateError(problem: "a “}” stands alone; write “}}” for a brace")
            } else if byte == open {
                guard let end = rest.firstIndex(of: close) else {
                    throw RouteTemplateError(problem: "a “{” has no “}”; write “{{” for a brace")
                }
                let name = String(decoding: rest[..<end], as: UTF8.self)
                guard let placeholder = RoutePlaceholder(name) else {
                    throw RouteTemplateError(
                        problem:
                            "“{\(name.excerpt)}” is not a placeholder; there are \(RoutePlaceholder.known), and “{{” stands "
                            + "for a brace")
                }
                if !literal.isEmpty { parts.append(.text(String(decoding: literal, as: UTF8.self))) }
                literal = []
                parts.append(.placeholder(placeholder))
                rest = rest[rest.index(after: end)...]
            } else {
                literal.append(byte)
            }
        }
        if !literal.isEmpty { parts.append(.text(String(decoding: literal, as: UTF8.self))) }
        return parts
    }

    private func checkPlaceholders() throws(RouteTemplateError) {
        guard !placeholders.isEmpty else { return }
        let start = if case .text(let text)? = parts.first { text } else { "" }
        switch context {
        case .text, .name, .key, .argument, .header: return
        case .url:
            guard Self.choosesHost(start) else {
                throw RouteTemplateError(
                    problem:
                        "scheme and host must stand before the first placeholder, as in https://media.example.com/in/{name}: "
                        + "a client must not choose the destination")
            }
            guard !placeholders.contains(.file) else {
                throw RouteTemplateError(problem: "{file} is a path on this machine, which is not a part of a URL")
            }
        case .path:
            guard parts == [.placeholder(.file)] || start.utf8.first == .slash else {
                throw RouteTemplateError(
                    problem: "a path must be {file}, or start with “/”: a client must not choose the directory")
            }
            guard parts.count == 1 || !placeholders.contains(.file) else {
                throw RouteTemplateError(problem: "{file} is a whole path, to which nothing is added")
            }
        }
    }

    /// Bytes of a name in a file system of Linux, of a path, and of the key of an object in S3.
    private static let maxName = 255
    private static let maxPath = 4095
    private static let maxKey = 1024

    private var isOfFileSystem: Bool {
        switch context {
        case .path, .name: true
        case .url: text.prefix(5).lowercased() == "file:"
        case .text, .key, .argument, .header: false
        }
    }

    /// Whether a text contains all of a URL up to its path.
    private static func choosesHost(_ text: String) -> Bool {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let rest = bytes[colon...].dropFirst()
        if text[..<colon].lowercased() == "file", rest.first == .slash, rest.dropFirst().first != .slash { return true }
        guard rest.starts(with: "//".utf8) else { return false }
        return rest.dropFirst(2).contains { $0 == .slash || $0 == UInt8(ascii: "?") }
    }

    // MARK: Filling

    /// The text with the facts of an upload.
    /// - Throws: ``RouteTemplateError`` that names the placeholder, for a fact that is missing, and for a value that the
    ///   context does not take.
    func filled(_ facts: RouteFacts) throws(RouteTemplateError) -> String {
        var result = ""
        /// The part of ``result`` from the last slash on, while it is in a path.
        var segment = ""
        var hasValue = false
        var isPath = [.url, .path, .name, .key].contains(context)
        func endSegment() throws(RouteTemplateError) {
            defer { (segment, hasValue) = ("", false) }
            guard hasValue else { return }
            let bytes = context == .url ? PercentEncoding.decoded(segment.utf8) : Array(segment.utf8)
            guard !bytes.isEmpty, bytes != Array(".".utf8), bytes != Array("..".utf8) else {
                throw RouteTemplateError(
                    problem:
                        "a part of the path would be “\(String(decoding: bytes, as: UTF8.self))”, which names a directory"
                )
            }
            guard !isOfFileSystem || bytes.count <= Self.maxName else {
                throw Self.tooLong("a part of the path", bytes.count, Self.maxName)
            }
        }
        for part in parts {
            switch part {
            case .text(let text):
                result += text
                for scalar in text.unicodeScalars where isPath {
                    if scalar == "/" {
                        try endSegment()
                    } else if scalar == "?", context == .url {
                        try endSegment()
                        isPath = false
                    } else {
                        segment.unicodeScalars.append(scalar)
                    }
                }
            case .placeholder(let placeholder):
                let value = try facts.value(of: placeholder)
                if placeholder.isClientText { try check(value, of: placeholder, isPath: isPath) }
                let isFolder = isPath && placeholder == .path
                let names =
                    isFolder ? value.split(separator: "/", omittingEmptySubsequences: false).map(String.init) : [value]
                for (index, name) in names.enumerated() {
                    if index > 0 {
                        result += "/"
                        try endSegment()
                    }
                    let text = context == .url ? Self.encoded(name) : name
                    result += text
                    guard isPath, placeholder != .file else { continue }
                    segment += text
                    hasValue = true
                }
            }
        }
        if isPath { try endSegment() }
        if !placeholders.isEmpty { try checkLength(result) }
        if context == .argument, result.utf8.first == UInt8(ascii: "-"), case .placeholder(let first)? = parts.first {
            throw RouteTemplateError(
                problem: "\(first.text) is “\(result.excerpt)”, which a program would take for an option")
        }
        return result
    }

    /// An operation would find it only after all bytes have come.
    private func checkLength(_ result: String) throws(RouteTemplateError) {
        let count = context == .url ? PercentEncoding.decoded(result.utf8).count : result.utf8.count
        if isOfFileSystem, count > Self.maxPath { throw Self.tooLong("the path", count, Self.maxPath) }
        if context == .key, count > Self.maxKey { throw Self.tooLong("the key of the object", count, Self.maxKey) }
    }

    private static func tooLong(_ thing: String, _ count: Int, _ max: Int) -> RouteTemplateError {
        RouteTemplateError(
            problem: "\(thing) would have \(count) bytes, and at most \(max) are allowed; shorten the name")
    }

    private func check(
        _ value: String, of placeholder: RoutePlaceholder, isPath: Bool
    ) throws(RouteTemplateError) {
        for scalar in value.unicodeScalars {
            let problem: String? =
                if scalar.properties.generalCategory == .control {
                    "a control character"
                } else if isPath, scalar == "/" && placeholder != .path || scalar == "\\" {
                    "“\(scalar)”, which a name in a path must not have"
                } else if context == .header, !scalar.isASCII {
                    "“\(scalar)”, which a header value must not have"
                } else {
                    nil
                }
            if let problem {
                throw RouteTemplateError(problem: "\(placeholder.text) is “\(value.excerpt)” and has \(problem)")
            }
        }
    }

    /// All bytes but the unreserved ones (RFC 3986, section 2.3) are encoded, so that the value is one segment of a path, or
    /// one value of a query.
    private static func encoded(_ value: String) -> String {
        value.utf8.reduce(into: "") { text, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += PercentEncoding.encoded(byte)
            }
        }
    }
}

/// Why a text of a route is not a template.
struct RouteTemplateError: Error, Sendable, Equatable {
    /// A JSON Pointer below the value that was read: `/headers/X-Name`. Empty for the value itself.
    var pointer = ""
    /// A sentence without a full stop at its end.
    var problem: String
}
