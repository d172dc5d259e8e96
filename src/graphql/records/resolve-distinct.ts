/** Resolves a list whose rows differ in some fields: of rows that are alike only the first. */
import type { Later } from '../../core/maybe-promise.js'
import type { ListOptions } from '../../records/filters/list-options.js'
import { type Caller, asked } from '../../records/rights/caller.js'
import { ClientView } from '../../records/policy/client-view.js'
import { callerOf } from '../caller.js'
import type { Arguments } from '../declarations.js'
import { readGroups } from './aggregate-names.js'
import type { RecordModel } from './model.js'
import { defaultLimit, QuestionReader } from './question.js'
import type { Instance } from './read-rows.js'
import type { RecordServices } from './resolve-records.js'

/** @throws {HttpError} 400 `VALIDATION`; 401 or 403 for what the caller may not read */
export function resolveDistinct(
  model: RecordModel,
  services: RecordServices,
  args: Arguments,
  context: unknown,
): Later<Instance[]> {
  return asked(model.table, callerOf(context), (caller) =>
    readDistinct(model, services, args, caller),
  )
}

function readDistinct(
  model: RecordModel,
  { database, listMax }: RecordServices,
  { where, orderBy, distinct, limit, offset }: Arguments,
  caller: Caller,
): Promise<Instance[]> {
  const opened = database()
  const reader = new QuestionReader({ database: opened, caller, listMax })
  const options = {
    ...(isGiven(where) && { where: reader.translate(model, where) }),
    ...(isGiven(orderBy) && { orderBy: reader.orderTerms(model, orderBy) }),
    distinct: readGroups(model, distinct, 'distinct'),
    limit: reader.most('limit', limit ?? defaultLimit),
    offset: offset ?? 0,
    view: new ClientView({ context: opened.context, caller, log: opened.log }),
  }
  const { request } = caller
  const records =
    request === undefined ? opened.records(model.type) : opened.recordsFor(model.type, request)
  return records.list(options as unknown as ListOptions<object>) as Promise<Instance[]>
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}
