/// Why a payload was not resolved.
package enum PayloadResolutionError<SourceError: Error>: Error {
    /// A reference leads to nothing, or the resolved payload exceeds a limit. Another attempt ends alike.
    case payload(PayloadReferenceError)
    /// A result could not be read.
    case source(SourceError)
}

extension PayloadResolutionError: Equatable where SourceError: Equatable {}

extension PayloadResolutionError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .payload(let error): error.description
        case .source(let error): String(describing: error)
        }
    }
}
