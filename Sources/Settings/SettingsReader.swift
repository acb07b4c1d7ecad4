package import Commands
package import FlowText

/// Reads the settings of `sluice.yaml`, over which the variables of the environment lie.
///
/// A value that cannot be used is an error that names its key, and never replaced by the default. The reader remembers the keys
/// that were read, so that an unknown key can be refused.
package struct SettingsReader {
    /// The name of the file, for errors.
    private let file: String
    /// The keys and sections of the file by their paths, without those of other readers.
    private var keys: [[String]: LocatedValue.Member] = [:]
    private let variables: [String: String]
    /// The paths that were read, by their names.
    private var known: [String: [String]] = [:]

    /// - Parameters:
    ///   - tree: the file, as ``FlowText/YAMLText/parseConfiguration(_:)`` reads it; nil without one.
    ///   - file: its name, for errors.
    ///   - variables: of the environment, by their names.
    ///   - others: keys of the first level that have another reader.
    package init(
        _ tree: LocatedValue?, file: String, variables: [String: String], without others: Set<String> = []
    ) {
        self.file = file
        self.variables = variables
        for member in tree?.members ?? [] where !others.contains(member.name) { add(member, below: []) }
    }

    /// Recurses at most 64 times, which is the limit of the parser.
    private mutating func add(_ member: LocatedValue.Member, below section: [String]) {
        let path = section + [member.name]
        keys[path] = member
        for inner in member.value.members ?? [] { add(inner, below: path) }
    }

    /// - Returns: nil where the key is absent.
    /// - Throws: ``SettingsError`` for a list.
    package mutating func text(_ path: [String]) throws(SettingsError) -> String? {
        let name = remember(path)
        if let variable = variables[Self.variable(name)] { return variable }
        guard let value = keys[path]?.value else { return nil }
        guard value.elements == nil else { throw SettingsError(key: name, problem: "takes one value, not a list") }
        return value.text
    }

    /// A list; that of a variable is separated by commas. Empty elements are left out.
    /// - Returns: an empty list where the key is absent.
    /// - Throws: ``SettingsError`` for a text, and for an element that is not a plain value.
    package mutating func list(_ path: [String]) throws(SettingsError) -> [String] {
        switch try textOrList(path) {
        case nil, .text(""): return []
        case .list(let list): return list
        case .text(let text):
            throw SettingsError(key: path.joined(separator: "."), problem: "takes a list such as [\(text)]")
        }
    }

    /// A value that may be one text or a list.
    package enum TextOrList: Equatable {
        case text(String)
        case list([String])
    }

    /// As ``list(_:)``, for a key that may also have one text in the file. A variable is always a list.
    /// - Returns: nil where the key is absent.
    /// - Throws: ``SettingsError`` for an element that is not a plain value.
    package mutating func textOrList(_ path: [String]) throws(SettingsError) -> TextOrList? {
        let name = remember(path)
        if let variable = variables[Self.variable(name)] {
            return .list(
                variable.split(separator: ",").compactMap { part in
                    guard let first = part.firstIndex(where: { !$0.isWhitespace }),
                        let last = part.lastIndex(where: { !$0.isWhitespace })
                    else { return nil }
                    return String(part[first...last])
                })
        }
        guard let elements = keys[path]?.value.elements else { return keys[path]?.value.text.map { .text($0) } }
        var texts: [String] = []
        for element in elements {
            guard let text = element.text else {
                throw SettingsError(key: name, problem: "takes a list of plain values")
            }
            if !text.isEmpty { texts.append(text) }
        }
        return .list(texts)
    }

    /// - Parameters:
    ///   - what: completes the error, as in “takes seconds such as 2.5”.
    ///   - parse: nil where the text is not valid.
    package mutating func value<Value>(
        _ path: [String], takes what: String, parse: (String) -> Value?
    ) throws(SettingsError) -> Value? {
        guard let text = try text(path) else { return nil }
        guard let value = parse(text) else {
            throw SettingsError(key: path.joined(separator: "."), problem: "takes \(what), not “\(text)”")
        }
        return value
    }

    private mutating func remember(_ path: [String]) -> String {
        let name = path.joined(separator: ".")
        known[name] = path
        return name
    }

    // MARK: Kinds of values

    package mutating func read(_ value: inout Int, _ path: [String]) throws(SettingsError) {
        value = try self.value(path, takes: "a whole number") { Int($0) } ?? value
    }

    package mutating func read(_ value: inout Bool, _ path: [String]) throws(SettingsError) {
        let words = ["true": true, "yes": true, "on": true, "false": false, "no": false, "off": false]
        value = try self.value(path, takes: "true or false") { words[$0.lowercased()] } ?? value
    }

    /// `10s`, `1h30m`, or plain seconds.
    package mutating func read(_ value: inout Duration, _ path: [String]) throws(SettingsError) {
        value =
            try self.value(path, takes: Duration.forms) { text in
                guard let number = Self.number(text) else { return Duration.parse(text) }
                return number >= 0 && number < 1e9 ? .milliseconds(Int64((number * 1000).rounded())) : nil
            } ?? value
    }

    /// A factor.
    package mutating func read(_ value: inout Double, _ path: [String]) throws(SettingsError) {
        value = try self.value(path, takes: "a number") { Self.number($0) } ?? value
    }

    /// `0.2` or `20%`.
    package mutating func readShare(_ value: inout Double, _ path: [String]) throws(SettingsError) {
        value =
            try self.value(path, takes: "a share such as 0.2 or 20%") { text in
                text.hasSuffix("%") ? Self.number(String(text.dropLast())).map { $0 / 100 } : Self.number(text)
            } ?? value
    }

    /// `5` or `5%`.
    package mutating func readPercent(_ value: inout Int, _ path: [String]) throws(SettingsError) {
        value =
            try self.value(path, takes: "percent such as 5%") { Int($0.hasSuffix("%") ? String($0.dropLast()) : $0) }
            ?? value
    }

    /// The key `origin` of a section.
    package mutating func origin(_ section: [String]) throws(SettingsError) -> Destination? {
        let path = section + ["origin"]
        if let text = try text(path), text.contains("@") {
            // Not quoted, because it may contain a password.
            throw SettingsError(
                key: path.joined(separator: "."),
                problem: "takes an origin without a user; set the user in a section of credential")
        }
        return try value(path, takes: "an origin such as https://media.example.com") { Destination(origin: $0) }
    }

    private static func number(_ text: String) -> Double? {
        guard let number = Double(text), number.isFinite else { return nil }
        return number
    }

    // MARK: Keys

    /// Call it when all keys have been read.
    /// - Throws: ``SettingsError`` for the first key of the file that was not read; its problem names the others.
    package func refuseUnknown() throws(SettingsError) {
        let unknown = keys.compactMap { path, member -> String? in
            let name = path.joined(separator: ".")
            guard known[name] != path else { return nil }
            let isSection = member.value.members != nil
            guard member.value.text == "" || member.value.members?.isEmpty == true else {
                return isSection ? nil : name
            }
            // An empty section is known by its keys.
            return path.count == 1 && names(below: [member.name[...]]).isEmpty ? name : nil
        }.sorted()
        guard let key = unknown.first else { return }
        let others = unknown.dropFirst()
        var problem = problem(ofUnknown: key)
        if !others.isEmpty {
            let list = others.prefix(10).joined(separator: ", ") + (others.count > 10 ? ", …" : "")
            problem = "\(problem.withFullStop) Not known either: \(list)"
        }
        throw SettingsError(key: key, problem: problem)
    }

    private func problem(ofUnknown key: String) -> String {
        if let meant = known[key], let name = meant.last {
            let section = meant.dropLast().joined(separator: ".")
            return "is not known, because its name has a dot; write “\(name)” inside of the section “\(section)”"
        }
        let path = key.split(separator: ".", omittingEmptySubsequences: false)
        // A named section: `destination.media` belongs to the list `destinations`.
        let list = "\(path[0])s"
        if known[list] != nil, path.count > 1, names(below: path.prefix(2)).isEmpty {
            return "its section has a name that is not in the list \(list)"
        }
        // The names that may follow the longest known part of the key.
        let length = (0..<path.count).reversed().first { !names(below: path.prefix($0)).isEmpty } ?? 0
        let choices = names(below: path.prefix(length))
        if let near = NearestName.find(key, among: known.keys.sorted()) { return "is not known; is it “\(near)”?" }
        guard !choices.contains(path[length]),
            let name = NearestName.find(String(path[length]), among: choices.map(String.init))
        else { return "is not known; there are \(choices.joined(separator: ", "))" }
        let section = path.prefix(length) + [name[...]]
        let meant = section + path.dropFirst(length + 1)
        let others = names(below: section[...])
        guard names(below: meant[...]).isEmpty, known[meant.joined(separator: ".")] == nil, !others.isEmpty else {
            return "is not known; is it “\(meant.joined(separator: "."))”?"
        }
        return "is not known; is it a key of “\(section.joined(separator: "."))”? There are "
            + others.joined(separator: ", ")
    }

    /// - Parameters:
    ///   - variables: of the environment.
    ///   - sections: those whose variables have no other reader, for example `network`.
    ///   - others: variables with the prefix of this program that another reader has.
    /// - Throws: ``SettingsError`` for the first variable of these sections that was not read, and for the first of any other
    ///   name that differs from a known one by a slip.
    package func refuseUnknown(
        variables: [String], of sections: [String], others: [String] = []
    ) throws(SettingsError) {
        let names = Set(known.keys.map(Self.variable))
        let prefixes = sections.map { Self.variable("\($0).") }
        for name in variables.sorted()
        where name.hasPrefix("SLUICE_") && !names.contains(name) && !others.contains(name) {
            let near = NearestName.find(name, among: names.union(others).sorted())
            guard near != nil || prefixes.contains(where: name.hasPrefix) else { continue }
            throw SettingsError(
                key: name,
                problem: near.map { "no key has this variable; is it \($0)?" }
                    ?? "no key has this variable; that of network.maxTransfers is "
                    + Self.variable("network.maxTransfers"))
        }
    }

    /// The variable that lies over a key: `network.maxTransfers` is `SLUICE_NETWORK_MAX_TRANSFERS`.
    private static func variable(_ key: String) -> String {
        var name = "SLUICE_"
        var last: Character?
        for character in key {
            if character.isUppercase, last?.isLowercase ?? false { name += "_" }
            name += character.isLetter || character.isNumber ? character.uppercased() : "_"
            last = character
        }
        return name
    }

    private func names(below path: ArraySlice<Substring>) -> [Substring] {
        let prefix = path.map { "\($0)." }.joined()
        return Set(known.keys.filter { $0.hasPrefix(prefix) }.map { $0.dropFirst(prefix.count).prefix { $0 != "." } })
            .sorted()
    }

    /// Adds to an error where the value of its key comes from: the variable, else the position in the file. If the file does not
    /// have the key, that is the section that lacks it.
    package func locating(_ error: SettingsError) -> SettingsError {
        var error = error
        if known[error.key] != nil, variables[Self.variable(error.key)] != nil {
            error.source = .variable(Self.variable(error.key))
            return error
        }
        var name = error.key[...]
        while true {
            if let (path, member) = keys.first(where: { $0.key.joined(separator: ".") == name }) {
                let isValue = known[error.key] == path && member.value.members == nil
                error.source = .file(file, isValue ? member.value.position : member.position)
                return error
            }
            guard let dot = name.lastIndex(of: ".") else { return error }
            name = name[..<dot]
        }
    }
}

/// A key of `sluice.yaml`, or a variable of the environment, that cannot be used (exit code 78).
package struct SettingsError: Error, Equatable, CustomStringConvertible {
    /// Where a value comes from.
    package enum Source: Equatable, Sendable {
        /// The name of the file, and the position in it.
        case file(String, SourcePosition)
        /// The name of the variable.
        case variable(String)
    }

    /// As it stands in the file: `network.level.degraded.utility`.
    package let key: String
    /// The rest of the sentence: what is wrong, and what is allowed.
    package let problem: String
    /// Nil until ``SettingsReader/locating(_:)`` has found it, and for a key that is in neither.
    package var source: Source?

    package init(key: String, problem: String, source: Source? = nil) {
        self.key = key
        self.problem = problem
        self.source = source
    }

    package var description: String {
        let sentence = "configuration: \(key): \(problem)"
        return switch source {
        case .file(let file, let position): "\(sentence) (\(file):\(position.line):\(position.column))"
        case .variable(let name): "\(sentence) (\(name))"
        case nil: sentence
        }
    }
}
