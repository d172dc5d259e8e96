/** Declares the subscription to the changes of a record. Source: decisions, GraphQL. */
import type { FieldDeclaration, TypeDeclaration } from '../declarations.js'
import { openChanges, type ChangeOrFailure, type RecordChange } from './change-stream.js'
import type { RecordModel } from './model.js'
import type { RecordServices } from './resolve-records.js'

/** The access rule is the rule for reading the record. */
export function declareSubscription(
  model: RecordModel,
  services: RecordServices,
): [string, FieldDeclaration] {
  const { name, one, access } = model
  const field: FieldDeclaration = {
    type: `${name}Change`,
    access,
    description: `Sends an event for every ${name} that is created, updated or deleted, if the caller may see it.`,
    subscribe: (_root, _args, context) => openChanges(model, services, context),
    resolve: (event) => {
      const change = event as ChangeOrFailure
      if ('change' in change) return change.change
      throw change.failure
    },
  }
  return [`${one}Changed`, field]
}

/**
 * ```graphql
 * type ProductChange { event: ChangeEvent!  id: ID!  product: Product }
 * ```
 */
export function declareChange({ name, one, ids }: RecordModel): [string, TypeDeclaration] {
  const read = (type: string, read: (change: RecordChange) => unknown): FieldDeclaration => ({
    type,
    resolve: (change) => read(change as RecordChange),
  })
  const fields = {
    event: read('ChangeEvent!', ({ event }) => event),
    id: read('ID!', ({ id }) => ids.write(id)),
    // The records `Event` and `Id` would otherwise collide with the fields above.
    [one === 'event' || one === 'id' ? `${one}Record` : one]: {
      ...read(name, ({ record }) => record),
      description: 'The current record. Null after a deletion.',
    },
  }
  const description = `A change of a ${name}.`
  return [`${name}Change`, { kind: 'object', fields, description }]
}

export const changeEvent: TypeDeclaration = {
  kind: 'enum',
  values: { created: 'created', updated: 'updated', deleted: 'deleted' },
  meanings: {
    created: 'The record was created.',
    updated: 'The record was updated.',
    deleted: 'The record was deleted.',
  },
  description: 'The kind of a change.',
}
