package import HTTPClient
package import Settings

/// The settings of the built-in operations in `sluice.yaml`.
package struct OperationsConfiguration: Sendable {
    package var http = HTTPConfiguration()
    package var credentials = CredentialStore()
    package var resumes = ResumeRules()

    package init() {}

    /// Reads the section `upload` (``HTTPConfiguration/init(reading:)``), the credentials
    /// (``CredentialStore/init(reading:)``) and the resume rules of destinations
    /// (``ResumeRules/init(reading:)``).
    /// - Throws: ``SettingsError`` naming the key.
    package init(reading reader: inout SettingsReader) throws(SettingsError) {
        http = try HTTPConfiguration(reading: &reader)
        credentials = try CredentialStore(reading: &reader)
        resumes = try ResumeRules(reading: &reader)
    }
}
