/// The certificates of this client and of the servers that it trusts, by origin. Files are read when they are
/// first needed, and again when they have changed.
package struct TLSSettings: Sendable, Equatable {
    /// The certificate chain and the private key of a client, both in PEM.
    package struct Identity: Sendable, Hashable {
        package var certificateFile: String
        package var keyFile: String

        package init(certificateFile: String, keyFile: String) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }
    }

    /// The certificates for one origin.
    package struct Rule: Sendable, Hashable {
        /// PEM files of trusted certificates, in addition to the system's.
        package var trustRootsFiles: [String] = []
        package var identity: Identity?

        package init() {}
    }

    /// A PEM file of trusted certificates for all origins.
    package var trustRootsFile: String?
    private var rules: [HTTPOrigin: Rule] = [:]

    package init() {}

    package subscript(_ origin: HTTPOrigin) -> Rule {
        get {
            var rule = rules[origin] ?? Rule()
            if let trustRootsFile { rule.trustRootsFiles.append(trustRootsFile) }
            return rule
        }
        set { rules[origin] = newValue }
    }

    /// All files that the settings name.
    package var files: Set<String> {
        var files = Set(rules.values.flatMap { $0.trustRootsFiles + [$0.identity?.certificateFile].compactMap { $0 } })
        files.formUnion(rules.values.compactMap { $0.identity?.keyFile })
        if let trustRootsFile { files.insert(trustRootsFile) }
        return files
    }
}
