// Runs before the first paint, so that a chosen theme never flashes. Without a choice the system decides.
{
  let theme = null
  try {
    theme = localStorage.getItem('kalends.theme')
  } catch {
    // Storage may be forbidden.
  }
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
}
