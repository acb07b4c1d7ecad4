/// The release of this program.
package enum SluiceVersion {
    package static let current = "0.2.0-dev"
    /// The first release, whose workers do not name it.
    package static let first = "0.1.0"
}
