/// Versions of the store's tables (``Schema``).
package enum StoreVersion {
    /// The newest that this program knows.
    package static let newest = Schema.version
}
