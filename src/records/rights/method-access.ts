/**
 * The access rules of methods that clients read as fields: their own rule, and the rules of the fields that they are
 * computed from. Source: decisions, Records: access rules.
 */
import type { AccessRule } from '../../auth/access.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import type { Problems } from '../../errors/problems.js'
import type { Class } from '../../metadata/class.js'
import { createMemberMetadata } from '../../metadata/class-metadata.js'
import type { Table } from '../model/table.js'
import { memberAccess, policyOf } from './record-policy.js'

/** The fields from which a value is computed. */
export interface FieldsRead {
  /** Default: all fields. */
  readonly needs?: readonly string[] | undefined
  /** Whether callers may read the value without the right to read the fields. Default false. */
  readonly open?: boolean | undefined
}

const fieldsRead = createMemberMetadata<FieldsRead>('fieldsRead')

/** Makes a method a field of clients. Its access then includes the rules of the fields. */
export function writeFieldsRead(owner: Class, member: string, fields: FieldsRead): void {
  fieldsRead.write(owner, member, fields)
}

/** The methods that are fields of clients. */
export function resolvedMethods(type: Class): Iterable<string> {
  return fieldsRead.readAll(type).keys()
}

/** All these rules must admit a caller of the method. */
export function methodRules(table: Table, member: string): readonly AccessRule[] {
  const fields = fieldsRead.readAll(table.type).get(member)
  const ownRule = memberAccess(table.type, member)
  return [
    ...(ownRule === undefined ? [] : [ownRule]),
    ...(fields === undefined ? [] : inheritedRules(table, fields)),
  ]
}

/** The rules of `@Secured` on the fields. Hidden fields are read by the program only, so they have none. */
export function inheritedRules(table: Table, { needs, open }: FieldsRead): AccessRule[] {
  return open === true ? [] : rulesOfFields(table, needs)
}

function rulesOfFields(table: Table, needs: FieldsRead['needs']): AccessRule[] {
  const secured = [...policyOf(table).columns]
  const rules = secured
    .filter(([{ property }]) => needs === undefined || needs.includes(property))
    .map(([, rule]) => rule)
  return [...new Set(rules)]
}

/** Reports names that are not fields, and an `open` that opens nothing now but would later. */
export function reportFieldsRead(
  where: string,
  table: Table,
  { needs, open }: FieldsRead,
  problems: Problems,
): void {
  const { byProperty, type } = table
  for (const need of needs ?? []) {
    if (byProperty.has(need)) continue
    problems.add({
      code: 'GRAPHQL_NEEDS',
      message: `${where}: "${need}" in needs is not a field of ${type.name}.`,
      remedy: didYouMean(need, byProperty.keys()),
    })
  }
  if (open !== true || rulesOfFields(table, needs).length > 0) return
  problems.add({
    code: 'GRAPHQL_NEEDS',
    message: `${where}: open has no effect, because the value needs no field with @Secured.`,
    remedy: 'Remove open. It would open the value if a field is secured later.',
  })
}
