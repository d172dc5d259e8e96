/** The errors of an application that has its own form of them, `errors: { form, class }`. */
import type { OperationObject, ReferenceObject, ResponseObject } from 'openapi3-ts/oas31'
import { HttpError } from '../errors/http-error.js'
import { applyForm, type FormOfErrors } from '../http/error-form.js'
import { ServerRequest } from '../http/server-request.js'
import { createIncoming, FakeResponse } from '../http/fake-messages.js'
import { resolveClass } from '../metadata/class-metadata.js'
import { errorContent, errorResponses } from './error-components.js'
import type { Schemas } from './schemas.js'

/** Before the names of the responses in the application's form; packages keep those of the standard form. */
const prefix = 'Own'

/** Rewrites the errors of an operation. */
export type FormOperation = (operation: OperationObject) => OperationObject

export interface FormedErrors {
  readonly operation: FormOperation
  /** The responses that are referred to, by name. */
  readonly responses: Readonly<Record<string, ResponseObject>>
}

export function formedErrors(errors: FormOfErrors, schemas: Schemas): FormedErrors {
  const type = resolveClass(errors.class)
  const schema = type === undefined ? {} : schemas.of({ type, list: false }, 'output')
  const content = { 'application/json': { schema } }
  const formed = (response: ResponseObject | ReferenceObject): ResponseObject | ReferenceObject => {
    if ('$ref' in response)
      return { $ref: response.$ref.replace('/responses/', `/responses/${prefix}`) }
    return response.content === errorContent ? { ...response, content } : response
  }
  const operation: FormOperation = (described) => {
    const before = Object.entries(described.responses ?? {}) as [string, ResponseObject][]
    const after = before.map(([status, response]): [string, ResponseObject | ReferenceObject] => {
      const isOurs = '$ref' in response && status !== 'default'
      const sent = isOurs ? String(statusOf(errors, Number(status))) : status
      // What the route says of a status itself wins.
      const isTaken = sent !== status && before.some(([other]) => other === sent)
      return [isTaken ? status : sent, formed(response)]
    })
    return { ...described, responses: Object.fromEntries(after) }
  }
  const responses = Object.entries<ResponseObject>(errorResponses).map(
    ([name, response]): [string, ResponseObject] => [prefix + name, { ...response, content }],
  )
  return { operation, responses: Object.fromEntries(responses) }
}

/** The status that the form gives to an error of this status; the same where it needs a real request. */
function statusOf({ form }: FormOfErrors, status: number): number {
  const errors = [{ path: 'name', code: 'required', message: 'name is required' }]
  const isInput = status === 400
  const error = new HttpError(status, undefined, isInput ? { code: 'VALIDATION', errors } : {})
  const incoming = createIncoming({ method: 'GET', url: '/', headers: [], body: undefined })
  try {
    return applyForm(
      form,
      error,
      new ServerRequest(incoming, new FakeResponse(), { trustProxy: false }),
    ).status
  } catch {
    return status
  }
}
