internal import Commands

/// The meaning of an answer for a chain of redirects.
enum RedirectStep: Sendable, Equatable {
    /// The answer is not a redirect to follow; it is judged by its status.
    case none
    /// Send the request of this method to this URL. The address is checked anew.
    case follow(ResourceURL, method: String)
    /// 303 to a method other than GET and HEAD: the action was done, and its outcome is at this URL, which is
    /// not requested.
    case done(location: String)
    /// The redirect must not be followed. The failure is final.
    case refused(CommandFailure)
}
