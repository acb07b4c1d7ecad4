package import Commands
package import Configuration

/// Reads values strictly. An unusable value is an error that names the key, where the library's own methods
/// fall back to the default. Remembers the keys that were read, so that an unknown key can be refused.
package struct SettingsReader {
    private let configuration: ConfigReader
    private var known: Set<String> = []

    /// - Parameter configuration: with the environment, below `sluice`, in front of the file.
    package init(_ configuration: ConfigReader) { self.configuration = configuration }

    package mutating func text(_ path: [String]) throws(SettingsError) -> String? {
        let name = remember(path)
        let key = ConfigKey(path)
        if let text = configuration.string(forKey: key) { return text }
        guard configuration.stringArray(forKey: key) == nil else {
            throw SettingsError(key: name, problem: "takes one value, not a list")
        }
        return nil
    }

    package mutating func list(_ path: [String]) throws(SettingsError) -> [String] {
        let name = remember(path)
        let key = ConfigKey(path)
        // An empty variable is a list with one empty name.
        if let list = configuration.stringArray(forKey: key) { return list.filter { !$0.isEmpty } }
        guard let text = configuration.string(forKey: key), !text.isEmpty else { return [] }
        throw SettingsError(key: name, problem: "takes a list such as [\(text)]")
    }

    /// A value that may be one text or a list.
    package enum TextOrList: Equatable {
        case text(String)
        case list([String])
    }

    package mutating func textOrList(_ path: [String]) throws(SettingsError) -> TextOrList? {
        _ = remember(path)
        if let list = configuration.stringArray(forKey: ConfigKey(path)) { return .list(list.filter { !$0.isEmpty }) }
        return try text(path).map { .text($0) }
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
        known.insert(name)
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
    ///
    /// - Parameters:
    ///   - keys: the keys of the file, for example `network.level.good.limit`.
    ///   - emptySections: keys without a value, for example `network`.
    /// - Throws: ``SettingsError`` for the first key that was not read; its problem names the others.
    package func refuseUnknown(_ keys: [String], emptySections: [String] = []) throws(SettingsError) {
        let empty = emptySections.filter { names(below: $0.split(separator: ".")[...]).isEmpty }
        let unknown = (keys + empty).filter { !known.contains($0) }.sorted()
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
        let path = key.split(separator: ".", omittingEmptySubsequences: false)
        // A named section: `destination.media` belongs to the list `destinations`.
        let list = "\(path[0])s"
        if known.contains(list), path.count > 1, names(below: path.prefix(2)).isEmpty {
            return "its section has a name that is not in the list \(list)"
        }
        // The names that may follow the longest known part of the key.
        let length = (0..<path.count).reversed().first { !names(below: path.prefix($0)).isEmpty } ?? 0
        let choices = names(below: path.prefix(length))
        if let near = NearestName.find(key, among: known.sorted()) { return "is not known; is it “\(near)”?" }
        guard !choices.contains(path[length]),
            let name = NearestName.find(String(path[length]), among: choices.map(String.init))
        else { return "is not known; there are \(choices.joined(separator: ", "))" }
        let section = path.prefix(length) + [name[...]]
        let meant = section + path.dropFirst(length + 1)
        let others = names(below: section[...])
        guard names(below: meant[...]).isEmpty, !known.contains(meant.joined(separator: ".")), !others.isEmpty else {
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
        let names = Set(known.map(Self.variable))
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

    /// The library's name for it: `network.maxTransfers` is `SLUICE_NETWORK_MAX_TRANSFERS`.
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
        return Set(known.filter { $0.hasPrefix(prefix) }.map { $0.dropFirst(prefix.count).prefix { $0 != "." } })
            .sorted()
    }
}

/// A key of `sluice.yaml`, or a variable of the environment, that cannot be used (exit code 78).
package struct SettingsError: Error, Equatable, CustomStringConvertible {
    /// As it stands in the file: `network.level.degraded.utility`.
    package let key: String
    /// The rest of the sentence: what is wrong, and what is allowed.
    package let problem: String

    package init(key: String, problem: String) {
        self.key = key
        self.problem = problem
    }

    package var description: String { "configuration: \(key): \(problem)" }
}
