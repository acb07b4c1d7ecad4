/// The files of a certificate, in PEM form.
package struct CertificateFiles: Sendable, Equatable {
    /// The certificate of the door, then those that lead to its root.
    package var chain: String
    package var key: String

    package init(chain: String, key: String) {
        self.chain = chain
        self.key = key
    }
}
