/// Versions of the store's tables (``Schema``).
package enum StoreVersion {
    /// The newest that this program knows.
    package static let newest = Schema.version
    /// The version of release 0.1.0, whose workers do not state what they know.
    package static let ofFirstRelease = Schema.oldest
}
