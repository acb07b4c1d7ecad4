package import Exec
package import FileOps
package import HTTPClient
package import Settings
package import Sync
package import Transfers
package import Webhook

/// The settings of the built-in operations in `sluice.yaml`.
package struct OperationsConfiguration: Sendable {
    package var http = HTTPConfiguration()
    package var credentials = CredentialStore()
    package var resumes = ResumeRules()
    package var webhooks = WebhookEndpoints()
    /// How the receivers have answered; nil where this process executes nothing.
    package var webhookStates: WebhookEndpointStates?
    package var exec = ExecConfiguration()
    /// The directory of the responses that `fetch` keeps; nil where this process executes nothing.
    package var cache: String?
    /// The collections of `sync`; nil where this process executes nothing.
    package var collections: CollectionDirectory?
    /// `collections.directory`: where the collections lie; nil: in the data directory.
    package var collectionsDirectory: String?
    /// `cache.maxSize`: bytes of all these responses. The default is 1 GiB.
    package var maxCacheBytes: Int64 = 1 << 30

    package init() {}

    /// Reads the sections `upload` (``HTTPConfiguration/init(reading:)``), `cache` and `collections`, the
    /// credentials (``CredentialStore/init(reading:)``), the resume rules of destinations
    /// (``ResumeRules/init(reading:)``) the receivers of webhooks (``WebhookEndpoints/init(reading:)``) and
    /// the programs (``ExecConfiguration/init(reading:)``).
    /// - Throws: ``SettingsError`` naming the key.
    package init(reading reader: inout SettingsReader) throws(SettingsError) {
        http = try HTTPConfiguration(reading: &reader)
        credentials = try CredentialStore(reading: &reader)
        resumes = try ResumeRules(reading: &reader)
        webhooks = try WebhookEndpoints(reading: &reader)
        exec = try ExecConfiguration(reading: &reader)
        if let size = try reader.value(
            ["cache", "maxSize"], takes: "a size such as 2GiB", parse: { ByteCount.bytes($0) })
        {
            maxCacheBytes = size
        }
        collectionsDirectory = try reader.value(
            ["collections", "directory"], takes: "an absolute path",
            parse: { $0.hasPrefix("/") && !$0.utf8.contains(0) ? $0 : nil })
    }

    /// The names of the environment variables that hold secrets.
    package var secretVariables: Set<String> { credentials.variables.union(webhooks.variables) }
}
