"""Reads a file with VTK's own reader of VTKHDF, as ParaView does: all frames of an array into found.npy,
the rest as JSON."""
import json
import sys

import numpy
import vtk
from vtk.util.numpy_support import vtk_to_numpy

reader = vtk.vtkHDFReader()
reader.SetFileName(sys.argv[1])
reader.UpdateInformation()
frames = []
for step in range(max(reader.GetNumberOfSteps(), 1)):
    reader.SetStep(step)
    reader.Update()
    image = reader.GetOutput()
    frames.append(vtk_to_numpy(image.GetPointData().GetArray(sys.argv[2])).copy())
numpy.save("found.npy", numpy.array(frames))
print(json.dumps({"dimensions": image.GetDimensions(), "origin": image.GetOrigin(), "spacing": image.GetSpacing(),
                  "steps": reader.GetNumberOfSteps()}))
