/** Declares the subscription of a record. Source: decisions, GraphQL. */
import type { FieldDeclaration, TypeDeclaration } from '../declarations.js'
import { openChanges, type ChangeOrFailure, type RecordChange } from './change-stream.js'
import type { RecordModel } from './model.js'
import type { RecordServices } from './resolve-records.js'

/** Whoever may ask for the record may follow it. */
export function declareSubscription(
  model: RecordModel,
  services: RecordServices,
): [string, FieldDeclaration] {
  const { name, one, access } = model
  const field: FieldDeclaration = {
    type: `${name}Change`,
    access,
    description: `Every ${name} that is created, updated or deleted from now on, where the caller may see it.`,
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
    // A record `Event` or `Id` would hide one of these.
    [one === 'event' || one === 'id' ? `${one}Record` : one]: {
      ...read(name, ({ record }) => record),
      description: 'As it is now; null once it is deleted.',
    },
  }
  const description = `What became of a ${name}.`
  return [`${name}Change`, { kind: 'object', fields, description }]
}

export const changeEvent: TypeDeclaration = {
  kind: 'enum',
  values: { created: 'created', updated: 'updated', deleted: 'deleted' },
  meanings: {
    created: 'It is new.',
    updated: 'Something of it has changed.',
    deleted: 'It is gone.',
  },
  description: 'What became of a record.',
}
