internal import Commands
internal import Door
internal import FlowText

/// The routes of `sluice.yaml`.
enum ConfiguredRoutes {
    /// Those of the configuration; none where there is no file.
    /// - Throws: ``ExitError`` `configuration` with file and line.
    static func read(_ data: DataOptions) throws -> UploadRoutes {
        guard let path = try ConfigurationFile.path(data, data.directory()) else { return UploadRoutes() }
        return try read(path, try FlowFile.bytes(path))
    }

    /// - Parameters:
    ///   - path: for errors.
    ///   - text: YAML or JSON.
    static func read(_ path: String, _ text: [UInt8]) throws -> UploadRoutes {
        // A file with only comments has no value.
        guard text.contains(subsequence: UploadRoutes.key.utf8) else { return UploadRoutes() }
        let file = try parse(path, text)
        do throws(RouteError) { return try UploadRoutes(reading: file) } catch {
            throw ExitError(.configuration, place(path, error.position, error.problem))
        }
    }

    /// Whether a file has more than routes.
    static func isWholeConfiguration(_ path: String, _ text: [UInt8]) throws -> Bool {
        try parse(path, text).members?.contains { $0.name != UploadRoutes.key } ?? false
    }

    private static func parse(_ path: String, _ text: [UInt8]) throws(ExitError) -> LocatedValue {
        do throws(SourceError) { return try YAMLText.parse(text) } catch {
            throw ExitError(.configuration, place(path, error.position, error.problem))
        }
    }

    private static func place(_ path: String, _ position: SourcePosition?, _ problem: String) -> String {
        "\(path):\(position.map { "\($0.line):" } ?? "") \(problem)"
    }
}

extension [UInt8] {
    fileprivate func contains(subsequence part: some Collection<UInt8>) -> Bool {
        indices.contains { self[$0...].starts(with: part) }
    }
}
