/** The application's custom format of error responses: option `errors: { form }` of `bootstrap`. */
import { HttpError } from '../errors/http-error.js'
import { ruleValueOf } from '../errors/field-error.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import type { ClassReference } from '../metadata/class.js'
import type { RouteInfo } from '../routing/route.js'
import type { HttpRequest } from './request.js'

/** A field of an input that violates a rule. */
export interface ClientFieldError {
  /** Dotted, from the root of the body or query: `lines.0.qty`. */
  readonly path: string
  /** The name of the rule: `min`. */
  readonly code: string
  readonly message: string
  /** The value of the rule, `3` for `min: 3`; undefined for rules without one. */
  readonly value: unknown
}

/** An error as a client may see it, without the cause of a 500. */
export interface ClientError {
  readonly status: number
  /** Stable, such as `NOT_FOUND`. */
  readonly code: string
  readonly message: string
  /** Empty if the error is not about fields. */
  readonly fields: readonly ClientFieldError[]
}

export interface FormedError {
  /** Default: the status of the error. */
  readonly status?: number
  /** JSON. */
  readonly body: unknown
}

export type ErrorForm = (error: ClientError, request: HttpRequest) => FormedError

export const errorsRemedy =
  'Write errors: { form: ({ status, message }) => ({ status, body: { message } }), class: ErrorBody }.'

/** The option `errors` of `bootstrap`. */
export const errorsOptions = declareOptions({
  /** Returns the body of an error, and its status. It must neither throw nor return a promise. */
  form: option.of<ErrorForm>((value) => typeof value === 'function', errorsRemedy).required(),
  /** Describes the body in the OpenAPI document. Default: any JSON. */
  class: option.of<ClassReference>((value) => typeof value === 'function', errorsRemedy),
})

export interface ErrorsOptions extends OptionsOf<typeof errorsOptions> {}

/** The option `errors` with the routes that it applies to. */
export interface ErrorFormat {
  readonly form: ErrorForm
  readonly class: ClassReference | undefined
  /** True for routes of the application, and without a route. Clients of packages' routes expect the standard format. */
  readonly appliesTo: (route: RouteInfo | undefined) => boolean
}

export function toClientError({ status, code, message, errors = [] }: HttpError): ClientError {
  const fields = errors.map((fieldError) => {
    const { path, code, message } = fieldError
    return { path, code, message, value: ruleValueOf(fieldError) }
  })
  return { status, code, message, fields }
}

/** @throws {TypeError} if the form does not return an error status and JSON */
export function formError(
  form: ErrorForm,
  error: HttpError,
  request: HttpRequest,
): { readonly status: number; readonly body: string } {
  // A form of plain JavaScript may return anything, also undefined.
  const formed: unknown = form(toClientError(error), request)
  const { status = error.status, body } = Object(formed) as Partial<FormedError>
  const text: unknown = JSON.stringify(body)
  if (typeof text !== 'string' || !Number.isInteger(status) || status < 400 || status > 599)
    throw new TypeError(
      'errors.form must return { status, body }: a status of 400 to 599, and JSON.',
    )
  return { status, body: text }
}

export function resolveErrorsOptions(
  options: ErrorsOptions | undefined,
  isOfPackage: (controller: NonNullable<RouteInfo['controller']>) => boolean,
): ErrorFormat | undefined {
  if (options === undefined) return undefined
  const { form, class: type } = errorsOptions.read(options)
  const isOfApplication = ({ controller }: RouteInfo): boolean =>
    controller !== undefined && !isOfPackage(controller)
  return Object.freeze({
    form,
    class: type,
    appliesTo: (route: RouteInfo | undefined) => route === undefined || isOfApplication(route),
  })
}
