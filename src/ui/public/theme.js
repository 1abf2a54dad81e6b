// Runs before the first paint, so that the wrong theme never flashes. If no theme was chosen, the system decides.
{
  let theme = null
  try {
    theme = localStorage.getItem('kalends.theme')
  } catch {
    // Storage may be forbidden.
  }
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
}
