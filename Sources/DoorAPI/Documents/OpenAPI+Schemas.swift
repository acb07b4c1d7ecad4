extension OpenAPIDocument {
    static let schemas = """
          schemas:
            ID: {type: string, format: uuid}
            Next: {type: [string, 'null'], description: The cursor of the next page}
            Filter: {type: string, minLength: 1, maxLength: 1024}
            CommandType: {type: string, pattern: '^[a-z0-9.-]{1,64}$'}
            Status: {enum: [new, queued, sent, error, success, cancelled, blocked, inDoubt, tooManyTimes]}
            QualityOfService: {enum: [userInteractive, userInitiated, default, utility, background]}
            Settlement: {enum: [success, retry, cancel]}
            UploadState: {enum: [open, complete, ended]}
            Time: {type: [string, 'null'], format: date-time}
            Counts:
              type: object
              required: [new, queued, sent, error, success, cancelled, blocked, inDoubt, tooManyTimes]
              properties:
                new: {type: integer, minimum: 0}
                queued: {type: integer, minimum: 0}
                sent: {type: integer, minimum: 0}
                error: {type: integer, minimum: 0}
                success: {type: integer, minimum: 0}
                cancelled: {type: integer, minimum: 0}
                blocked: {type: integer, minimum: 0}
                inDoubt: {type: integer, minimum: 0}
                tooManyTimes: {type: integer, minimum: 0}
              additionalProperties: {type: integer, minimum: 0}
            Problem:
              type: object
              required: [type, title, status, detail, instance]
              properties:
                type: {type: string}
                title: {type: string}
                status: {type: integer}
                detail: {type: string}
                instance: {type: string, description: The id of the request}
            Command:
              type: object
              required: [id, type, qos, status, destination, claim, retries, retryLimit, reason, createdAt, updatedAt]
              properties:
                id: {$ref: '#/components/schemas/ID'}
                type: {$ref: '#/components/schemas/CommandType'}
                qos: {$ref: '#/components/schemas/QualityOfService'}
                status: {$ref: '#/components/schemas/Status'}
                destination: {type: [string, 'null']}
                idempotent: {type: boolean}
                claim: {type: integer}
                cancelRequested: {type: boolean}
                retries: {type: integer}
                retryLimit: {type: integer}
                crashes: {type: integer}
                notBefore: {$ref: '#/components/schemas/Time'}
                deadline: {$ref: '#/components/schemas/Time'}
                uniqueKey: {type: [string, 'null']}
                orderingKey: {type: [string, 'null']}
                batch: {type: [string, 'null']}
                limit: {type: [string, 'null']}
                offset: {type: integer, description: Bytes that the destination has acknowledged}
                total: {type: integer, description: 'Bytes in all; 0: not known'}
                worker: {type: [integer, 'null']}
                reason: {type: [string, 'null']}
                createdAt: {$ref: '#/components/schemas/Time'}
                updatedAt: {$ref: '#/components/schemas/Time'}
            CommandDetails:
              allOf: [{$ref: '#/components/schemas/Command'}]
              required: [payload, result, timeline]
              properties:
                payload: {description: As it was submitted}
                result: {description: 'As the operation has left it; null: none'}
                timeline:
                  type: array
                  description: The newest 100, the oldest first; `/commands/{id}/timeline` has all
                  items: {$ref: '#/components/schemas/Transition'}
            Transition:
              type: object
              required: [seq, status, at, worker, claim, reason]
              properties:
                seq: {type: integer}
                status: {$ref: '#/components/schemas/Status'}
                at: {type: string, format: date-time}
                worker: {type: [integer, 'null']}
                claim: {type: integer}
                reason: {type: [string, 'null']}
            NewCommand:
              type: object
              required: [type, payload]
              additionalProperties: false
              properties:
                type: {$ref: '#/components/schemas/CommandType'}
                payload: {description: As the operation of the type takes it}
                qos: {$ref: '#/components/schemas/QualityOfService'}
                idempotent: {type: boolean}
                uniqueKey: {type: string, minLength: 1, maxLength: 512}
                uniqueFor: {type: string, description: '`kept`, `running`, or a time such as 24h'}
                retryLimit: {type: integer, minimum: 0, maximum: 1000}
                notBefore: {type: string, description: RFC 3339, or a time from now such as 10m}
                deadline: {type: string, description: RFC 3339, or a time from now such as 10m}
                destination: {type: string}
                after:
                  type: [string, array]
                  description: 'Ids, each as ID, ID:success, ID:failure or ID:end'
                  items: {type: string}
                orderingKey: {type: string, minLength: 1, maxLength: 512}
                keyLimit: {type: integer, minimum: 1, maximum: 1000}
                keyFailure: {enum: [pass, hold]}
                batch: {$ref: '#/components/schemas/ID'}
                limit: {type: string}
            NewAction:
              type: object
              required: [verb]
              additionalProperties: false
              properties:
                verb: {enum: [cancel, retry, requalify, resolve]}
                filter:
                  type: object
                  additionalProperties: false
                  properties:
                    status:
                      oneOf:
                        - {$ref: '#/components/schemas/Status'}
                        - {type: array, minItems: 1, items: {$ref: '#/components/schemas/Status'}}
                    qos: {$ref: '#/components/schemas/QualityOfService'}
                    destination: {$ref: '#/components/schemas/Filter'}
                    type: {$ref: '#/components/schemas/CommandType'}
                    batch: {$ref: '#/components/schemas/ID'}
                    reason: {$ref: '#/components/schemas/Filter'}
                    q: {$ref: '#/components/schemas/Filter'}
                    from: {type: string, format: date-time}
                    before: {type: string, format: date-time}
                all: {type: boolean, description: Confirms an empty filter}
                qos: {$ref: '#/components/schemas/QualityOfService'}
                as: {$ref: '#/components/schemas/Settlement'}
            Action:
              type: object
              required: [id, verb, filter, actor, state, seen, changed, skipped, failed, problem, startedAt, endedAt]
              properties:
                id: {$ref: '#/components/schemas/ID'}
                verb: {type: string}
                filter: {type: object}
                actor: {type: string}
                state: {enum: [running, done, cancelled, failed]}
                seen: {type: integer}
                changed: {type: integer}
                skipped: {type: integer}
                failed: {type: integer}
                problem: {type: [string, 'null']}
                startedAt: {$ref: '#/components/schemas/Time'}
                endedAt: {$ref: '#/components/schemas/Time'}
            Upload:
              type: object
              required: [id, state, offset, length, protocol, fileName, route, createdAt, updatedAt, command, reason]
              properties:
                id: {$ref: '#/components/schemas/ID'}
                state: {$ref: '#/components/schemas/UploadState'}
                offset: {type: integer, description: Bytes that are durable}
                length: {type: [integer, 'null']}
                protocol: {type: string}
                fileName: {type: [string, 'null']}
                contentType: {type: [string, 'null']}
                route: {type: [string, 'null']}
                createdAt: {type: string, format: date-time}
                updatedAt: {type: string, format: date-time}
                expiresAt: {$ref: '#/components/schemas/Time'}
                command: {type: [string, 'null'], description: The id of the command that the upload became}
                reason: {type: [string, 'null']}
        """
}
