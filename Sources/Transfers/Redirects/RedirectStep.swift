package import Commands

/// The meaning of an answer for a chain of redirects.
package enum RedirectStep: Sendable, Equatable {
    /// The answer is not a redirect to follow; it is judged by its status.
    case none
    /// Send the request of this method to this URL. The address is checked anew.
    case follow(ResourceURL, method: String)
    /// The redirect must not be followed. The failure is final.
    case refused(CommandFailure)
}
