/** Documents writes that accept an `Idempotency-Key`. */
import type { InterceptorClass, RouteInfo } from '../../index.js'

type Operation = Parameters<NonNullable<InterceptorClass['document']>>[0]

const content = {
  'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } },
  'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemBody' } },
}

const answers = {
  '409':
    'The first request with this key has not been answered yet, or was done but its response is not stored, or the data conflict.',
  '422': 'The key was already used for a different request.',
}

export function documentKey(operation: Operation, { method }: RouteInfo): Operation {
  if (method === 'GET') return operation
  const known = (operation.responses ?? {}) as Record<string, unknown>
  const more = Object.fromEntries(
    Object.entries(answers).map(([status, description]) => [
      status,
      known[status] ?? { description, content },
    ]),
  )
  const responses = Object.entries({ ...known, ...more }).sort(([one], [other]) =>
    one.localeCompare(other),
  )
  return {
    ...operation,
    parameters: [
      ...(operation.parameters ?? []),
      {
        name: 'Idempotency-Key',
        in: 'header',
        description:
          'If the same request is sent again with the same key, the first answer is repeated.',
        schema: { type: 'string', minLength: 1, maxLength: 255 },
      },
    ],
    responses: Object.fromEntries(responses),
  }
}
