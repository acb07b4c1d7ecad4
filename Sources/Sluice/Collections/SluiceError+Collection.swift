internal import Host
internal import Store
internal import Sync

extension SluiceError {
    /// Runs `body`, and gives an error of a collection its code.
    static func ofCollection<Value>(_ body: () throws -> Value) throws(SluiceError) -> Value {
        do {
            return try body()
        } catch let error as CollectionError {
            throw SluiceError(code(error.problem), error.description)
        } catch let error as SystemError {
            throw SluiceError(StoreError(error))
        } catch {
            throw SluiceError(.failed, "\(error)")
        }
    }

    private static func code(_ problem: CollectionError.Problem) -> Code {
        switch problem {
        case .missing: .noSuchCollection
        case .foreign: .foreignStore
        case .damaged: .corrupt
        case .busy, .changed: .tryAgain
        case .system: .cannotWrite
        case .invalid: .invalid
        }
    }
}
