/** A cross-field rule for tests. */
import { ValidateBy } from 'class-validator'

/** Requires the value to be greater than the field `from` of the same row. */
export const isAfter = ValidateBy({
  name: 'isAfter',
  validator: {
    validate: (until: string | number, args) =>
      until > (args?.object as { from: string | number }).from,
    defaultMessage: () => 'until must be after from',
  },
})
