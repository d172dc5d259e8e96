/** Shows the errors of a call: next to each field that the error names, and the rest above the button. */

/**
 * @param {HTMLFormElement} form its fields are named as the paths of the server's `errors`
 * @param {Error & { status?: number, data?: any }} error
 */
export function showFaults(form, error) {
  clearFaults(form)
  const apart = []
  for (const { path, message } of error.data?.errors ?? []) {
    const field = form.elements.namedItem(path)
    if (field instanceof HTMLElement) markField(field, message)
    else apart.push(message)
  }
  const marked = form.querySelector('[aria-invalid]')
  if (marked === null && apart.length === 0) apart.push(messageOf(error))
  form.querySelector('.fault[role=alert]').textContent = apart.join('; ')
  marked?.focus()
}

/** A sentence for people about an error of any kind. */
export function messageOf(error) {
  if (error.status === undefined) return 'The server cannot be reached. Try again.'
  return error.data?.error ?? `The server answered ${error.status}.`
}

export function clearFaults(form) {
  form.querySelector('.fault[role=alert]').textContent = ''
  for (const fault of form.querySelectorAll('.field .fault')) fault.remove()
  for (const field of form.querySelectorAll('[aria-invalid]')) {
    field.removeAttribute('aria-invalid')
    field.removeAttribute('aria-describedby')
  }
}

function markField(field, message) {
  const known = document.getElementById(`${field.id}-fault`)
  if (known !== null) {
    known.textContent += `; ${message}`
    return
  }
  const fault = document.createElement('span')
  fault.id = `${field.id}-fault`
  fault.className = 'fault'
  fault.textContent = message
  field.after(fault)
  field.setAttribute('aria-invalid', 'true')
  field.setAttribute('aria-describedby', fault.id)
}
