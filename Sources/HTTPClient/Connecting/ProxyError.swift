/// Why a proxy's URL cannot be used, in a sentence.
package struct ProxyError: Error, Equatable, CustomStringConvertible {
    package let description: String
    /// The environment variable that holds the URL; nil where it comes from elsewhere.
    package private(set) var variable: String?

    init(_ description: String, variable: String? = nil) {
        self.description = description
        self.variable = variable
    }
}
