internal import Commands
package import Operations

/// A pattern for paths below a folder, compared byte by byte. Pure.
///
/// | pattern | matches |
/// |---|---|
/// | `*.jpg` | each file of such a name, in any folder |
/// | `/*.jpg` | only beside the start, not in a folder |
/// | `raw/` | each folder of that name |
/// | `a/**/b` | `a/b`, `a/x/b` and `a/x/y/b` |
/// | `a/**` | all that is below a folder `a` |
///
/// `*` stands for any characters but slashes, `**` for any characters, `?` for one character but a slash, and a
/// backslash takes the next character as it is. A pattern that matches a folder matches all that is below it.
package struct PathPattern: Sendable, Equatable {
    private enum Token: Sendable, Equatable {
        case byte(UInt8)
        /// The first byte of the character of `?`.
        case character
        /// The other bytes of that character.
        case continuation
        /// `*`
        case segment
        /// `**`
        case any
        /// `**/` stands for whole folders, also for none: then this and the next token are passed over.
        case optional
        case folders
    }

    private static let unsupported = Set("[]{}".utf8)

    private let tokens: [Token]
    /// The pattern begins at the start of the path; false: after any slash of it too.
    private let isAnchored: Bool
    /// The pattern matches folders only.
    private let isOfFolder: Bool

    /// - Throws: ``PayloadError`` of the kind `usage`.
    package init(_ text: String) throws(PayloadError) {
        var rest = Array(text.utf8)[...]
        isAnchored = rest.first == .slash
        if isAnchored { rest.removeFirst() }
        isOfFolder = rest.last == .slash
        if isOfFolder { rest.removeLast() }
        guard !rest.isEmpty else {
            throw PayloadError(.usage, "the pattern “\(text)” matches nothing; “**” matches all")
        }
        var tokens: [Token] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "?"): tokens += [.character, .continuation]
            case UInt8(ascii: "*"):
                let isDouble = rest.first == byte
                while rest.first == byte { rest.removeFirst() }
                let isWhole = tokens.isEmpty || tokens.last == .byte(.slash) || tokens.last == .folders
                if isDouble, isWhole, rest.first == .slash {
                    rest.removeFirst()
                    tokens += [.optional, .folders]
                } else {
                    tokens.append(isDouble ? .any : .segment)
                }
            case UInt8(ascii: "\\"):
                guard let next = rest.popFirst() else {
                    throw PayloadError(.usage, "the pattern “\(text)” ends in a backslash; write \\\\ for a backslash")
                }
                tokens.append(.byte(next))
            case let byte where Self.unsupported.contains(byte):
                let mark = String(Unicode.Scalar(byte))
                throw PayloadError(
                    .usage,
                    "the pattern “\(text)” has “\(mark)”: patterns have *, ** and ? only; give several patterns, or write "
                        + "\\\(mark) for the character itself")
            default: tokens.append(.byte(byte))
            }
        }
        self.tokens = tokens
    }

    /// Whether the pattern matches the file with this path, or a folder above it.
    package func matches(_ path: some Sequence<UInt8>) -> Bool {
        var states = States(tokens)
        for byte in path {
            if byte == .slash, states.isAtEnd { return true }
            states.take(byte)
            if byte == .slash, !isAnchored { states.enter(0) }
        }
        return states.isAtEnd && !isOfFolder
    }

    /// Whether the pattern matches all that is below the folder with this path, so that it need not be read.
    package func covers(_ folder: some Sequence<UInt8>) -> Bool {
        var states = States(tokens)
        for byte in folder {
            if byte == .slash, states.isAtEnd { return true }
            states.take(byte)
            if byte == .slash, !isAnchored { states.enter(0) }
        }
        if states.isAtEnd { return true }
        states.take(.slash)
        return tokens.last == .any && states.isAtEnd
    }

    /// The tokens that may take the next byte. Each byte is looked at once, so no pattern takes long.
    private struct States {
        private let tokens: [Token]
        private var current: [Bool]
        private var next: [Bool]

        init(_ tokens: [Token]) {
            self.tokens = tokens
            current = [Bool](repeating: false, count: tokens.count + 1)
            next = current
            enter(0)
        }

        /// Whether all tokens have been matched.
        var isAtEnd: Bool { current[tokens.count] }

        /// Adds a token to those that may take the next byte, and those after it that may follow at once.
        mutating func enter(_ index: Int) { Self.add(index, to: &current, tokens) }

        mutating func take(_ byte: UInt8) {
            for index in next.indices { next[index] = false }
            for (index, token) in tokens.enumerated() where current[index] {
                let isContinuation = byte & 0xC0 == 0x80
                switch token {
                case .byte(let expected): if byte == expected { Self.add(index + 1, to: &next, tokens) }
                case .character:
                    if byte != .slash, !isContinuation { Self.add(index + 1, to: &next, tokens) }
                case .continuation: if isContinuation { Self.add(index, to: &next, tokens) }
                case .segment: if byte != .slash { Self.add(index, to: &next, tokens) }
                case .any: Self.add(index, to: &next, tokens)
                case .optional: break
                case .folders:
                    next[index] = true
                    if byte == .slash { Self.add(index + 1, to: &next, tokens) }
                }
            }
            swap(&current, &next)
        }

        private static func add(_ index: Int, to states: inout [Bool], _ tokens: [Token]) {
            guard !states[index] else { return }
            states[index] = true
            guard index < tokens.count else { return }
            switch tokens[index] {
            case .segment, .any, .continuation: add(index + 1, to: &states, tokens)
            case .optional:
                add(index + 1, to: &states, tokens)
                add(index + 2, to: &states, tokens)
            case .byte, .character, .folders: break
            }
        }
    }
}

/// Chooses files by their paths below a folder: those that one of the patterns to include matches, or all where
/// there is none, but never one that a pattern to exclude matches. The order of the patterns does not count. Pure.
package struct PathFilter: Sendable, Equatable {
    private let included: [PathPattern]
    private let excluded: [PathPattern]

    /// - Throws: ``PayloadError`` of the kind `usage` that names the pattern.
    package init(including: [String] = [], excluding: [String] = []) throws(PayloadError) {
        included = try including.map { (text) throws(PayloadError) in try PathPattern(text) }
        excluded = try excluding.map { (text) throws(PayloadError) in try PathPattern(text) }
    }

    /// - Parameter path: of a file, with a slash between two names.
    package func takes(_ path: some Sequence<UInt8>) -> Bool {
        (included.isEmpty || included.contains { $0.matches(path) }) && !excluded.contains { $0.matches(path) }
    }

    /// Whether nothing below a folder is taken, so that it need not be read.
    package func skips(folder path: some Sequence<UInt8>) -> Bool { excluded.contains { $0.covers(path) } }
}
