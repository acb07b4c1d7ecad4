package import Commands
internal import FlowText
package import Settings

extension SettingsReader {
    /// Reads settings as `sluice.yaml` has them.
    package init(yaml: String, variables: [String: String] = [:], without others: Set<String> = []) throws {
        let tree = try YAMLText.parseConfiguration(Array(yaml.utf8))
        self.init(tree, file: "sluice.yaml", variables: variables, without: others)
    }

    /// - Parameter values: by their keys, for example `network.floor`.
    package init(_ values: [String: JSONValue], variables: [String: String] = [:]) throws {
        let paths = values.map { ($0.key.split(separator: ".", omittingEmptySubsequences: false)[...], $0.value) }
        try self.init(yaml: Self.section(paths).text, variables: variables)
    }

    private static func section(_ values: [(path: ArraySlice<Substring>, value: JSONValue)]) -> JSONValue {
        let names = Dictionary(grouping: values) { $0.path.first ?? "" }
        return .object(
            names.sorted { $0.key < $1.key }.map { name, values in
                let value = values.first { $0.path.count == 1 }?.value
                return .init(String(name), value ?? section(values.map { ($0.path.dropFirst(), $0.value) }))
            })
    }
}
