/// The access key for an endpoint of S3. The secrets are references: they are read for every request, so that
/// they can be rotated.
package struct S3AccessKey: Sendable, Equatable {
    package let id: String
    package let secret: Secret
    /// The token of a temporary key; nil for a lasting one.
    package let token: Secret?

    package init(id: String, secret: Secret, token: Secret? = nil) {
        self.id = id
        self.secret = secret
        self.token = token
    }
}
