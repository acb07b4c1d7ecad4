/// A member of the state that the stream `view` sends. The raw values are its names.
enum ViewPart: String, Sendable, CaseIterable {
    case asOf, coordinator, counts, rates, interval, running, links, uploads, problems, workers, relations, pauses
    case warnings
}
