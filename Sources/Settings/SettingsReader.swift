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

    /// Plain seconds, as everywhere in the file.
    package mutating func read(_ value: inout Duration, _ path: [String]) throws(SettingsError) {
        value =
            try self.value(path, takes: "seconds such as 2.5") { text in
                Self.number(text).flatMap { $0 >= 0 && $0 < 1e9 ? .milliseconds(Int64(($0 * 1000).rounded())) : nil }
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
    /// - Parameter keys: the keys of the file, for example `network.level.good.limit`.
    /// - Throws: ``SettingsError`` for the first key that was not read.
    package func refuseUnknown(_ keys: [String]) throws(SettingsError) {
        for key in keys.sorted() where !known.contains(key) {
            let path = key.split(separator: ".", omittingEmptySubsequences: false)
            // A named section: `destination.media` belongs to the list `destinations`.
            let list = "\(path[0])s"
            if known.contains(list), path.count > 1, names(below: path.prefix(2)).isEmpty {
                throw SettingsError(key: key, problem: "its section has a name that is not in the list \(list)")
            }
            // The names that may follow the longest known part of the key.
            let choices = (0..<path.count).reversed().lazy.map { names(below: path.prefix($0)) }.first { !$0.isEmpty }
            throw SettingsError(
                key: key, problem: "is not known; there are \(choices?.joined(separator: ", ") ?? "none")")
        }
    }

    /// - Parameters:
    ///   - variables: of the environment.
    ///   - sections: those whose variables have no other reader, for example `network`.
    /// - Throws: ``SettingsError`` for the first variable of these sections that was not read.
    package func refuseUnknown(variables: [String], of sections: [String]) throws(SettingsError) {
        let names = Set(known.map(Self.variable))
        let prefixes = sections.map { Self.variable("\($0).") }
        for name in variables.sorted() where prefixes.contains(where: name.hasPrefix) && !names.contains(name) {
            throw SettingsError(
                key: name,
                problem: "no key has this variable; that of network.maxTransfers is "
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
